# Serves the folder `site` on a free port, with Python or Node, whichever is installed.
if command -v python3 >/dev/null 2>&1; then
  exec python3 -u serve.py
elif command -v node >/dev/null 2>&1; then
  exec node serve.js
fi
echo "Neither python3 nor node is installed: install one of them, then run this again." >&2
exit 1

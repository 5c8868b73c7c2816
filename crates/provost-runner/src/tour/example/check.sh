# Checks that the board can be shown: it needs a title, a line that says when the
# café is open, and at least one thing to order.
board=site/board.json
for word in title open menu; do
  if ! grep -q "\"$word\"" "$board"; then
    echo "$board has no \"$word\"" >&2
    exit 1
  fi
  echo "$word: $(grep "\"$word\"" "$board" | head -n 1 | cut -d: -f2-)"
done
echo "The board can be shown."

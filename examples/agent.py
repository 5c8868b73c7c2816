#!/usr/bin/env python3
"""An agent that reads, writes and runs commands in a project through Provost.

It needs Python 3.9 or newer and nothing else; README.md says how to run it.
"""

import json
import os
import sys
import time
import uuid
from urllib.error import HTTPError
from urllib.request import Request, urlopen


class ProvostError(Exception):
    """A refused or failed request. Branch on `code`: it is stable, the message is not."""

    def __init__(self, code, message):
        super().__init__(f"{code}: {message}")
        self.code = code


class Provost:
    """A client for one project."""

    def __init__(self, url, project, token):
        self.url, self.project, self.token = url, project, token

    def request(self, method, path, body=None, key=None):
        """Sends a request and returns the JSON body of the response."""
        headers = {"Authorization": f"Bearer {self.token}"}
        if key is not None:
            headers["Idempotency-Key"] = key
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body).encode()
        try:
            with urlopen(Request(self.url + path, data, headers, method=method)) as response:
                return json.load(response)
        except HTTPError as response:
            # All errors have the same body: {"error": "…", "code": "POLICY_DENIED", "status": 403}.
            error = json.load(response)
            raise ProvostError(error["code"], error["error"]) from None

    def submit(self, action, params, wait=0, key=None):
        """Asks for an action and waits for its end, at most `wait` milliseconds.

        The response is 200 with the result when the action has ended, and 202 while it runs or
        waits for a person. A denied action is 403, which `request` raises.
        """
        path = f"/api/projects/{self.project}/actions?wait={wait}"
        return self.request("POST", path, {"action": action, "params": params}, key)

    def outcome(self, submitted):
        """Returns the result of a submitted action; waits for its end if it got a 202.

        This ends in any case: a question that nobody answers expires, 15 minutes by default.
        """
        if submitted["status"] == "finished":
            return submitted["result"]
        while True:
            action = self.request("GET", f"/api/actions/{submitted['actionId']}")
            if action["status"] in ("finished", "denied"):
                break
            time.sleep(0.25)
        fault = action["outcome"].get("fault")
        if fault:
            raise ProvostError(fault["code"], fault["message"])
        return action.get("result")

    def cancel(self, submitted):
        """Stops an action that runs, or withdraws one that waits for a person."""
        return self.request("POST", f"/api/actions/{submitted['actionId']}/cancel")


def variable(name):
    return os.environ.get(name) or sys.exit(f"set {name}; README.md says how")


def main():
    provost = Provost(
        os.environ.get("PROVOST_URL", "http://127.0.0.1:3001"),
        variable("PROVOST_PROJECT"),
        variable("PROVOST_TOKEN"),
    )

    # A read passes without a question, for a role with the skill `fs.read`.
    file = provost.outcome(provost.submit("fs.readFile", {"path": "README.md"}))
    print("read README.md:", file["content"].splitlines()[0])

    # A write needs a person's approval. Without `wait` the response comes at once.
    write = {"path": "notes.md", "content": "An agent was here.\n"}
    key = str(uuid.uuid4())
    submitted = provost.submit("fs.writeFile", write, key=key)
    print("write notes.md:", submitted["status"])
    provost.outcome(submitted)
    print("write notes.md: finished")

    # After a broken connection, send the request again with the same key: it happens once.
    try:
        provost.submit("fs.writeFile", write, key=key)
    except ProvostError as error:
        print("write notes.md again:", error)

    # A command. Here the response waits for the person and for the command, up to a minute.
    run = provost.submit("terminal.runCommand", {"command": "cat notes.md"}, wait=60_000)
    result = provost.outcome(run)
    print(f"run cat: exit code {result['exitCode']}: {result['stdout'].rstrip()}")

    # An agent may change its mind, also while the person has not answered.
    submitted = provost.submit("terminal.runCommand", {"command": "sleep 600"})
    provost.cancel(submitted)
    try:
        provost.outcome(submitted)
    except ProvostError as error:
        print("run sleep:", error)

    # What the person's rules, the role or Provost itself forbid is denied without a question.
    try:
        provost.submit("fs.writeFile", {"path": ".provost/roles/admin.md", "content": "x"})
    except ProvostError as error:
        print("write a role:", error)


if __name__ == "__main__":
    try:
        main()
    except ProvostError as error:
        sys.exit(str(error))

/** Posts a message at each interval; its first message says how long that is. */
self.onmessage = ({ data }) => setInterval(() => self.postMessage(null), data)

/**
 * Measures the page in a real browser, for `cargo xtask bench web`.
 *
 * The argument is a JSON list of daemons: { origin, login, slug, session }. They are
 * measured in turns, and the medians are printed as a JSON list in the same order.
 */
import { chromium } from '@playwright/test'

const ROUNDS = 11
const TIMEOUT_MS = 60_000

const LIVE = '[data-connection="live"]'
const ROW = '[role="listbox"][aria-label="Events"] [role="option"]'
const MESSAGE = '[role="log"][aria-label="Conversation"] [role="article"]'

/**
 * @typedef {{ readonly origin: string, readonly login: string, readonly slug: string, readonly session: string }} Subject
 * @typedef {import('@playwright/test').Browser} Browser
 * @typedef {import('@playwright/test').Page} Page
 * @typedef {import('@playwright/test').CDPSession} CDPSession
 */

/** A page of one daemon, in a browser context of its own. */
class BenchPage {
  #subject
  #page
  #client
  /** @type {Record<'openMs' | 'kilobytes' | 'heapMegabytes' | 'projectMs' | 'sessionMs', number[]>} */
  #samples = { openMs: [], kilobytes: [], heapMegabytes: [], projectMs: [], sessionMs: [] }
  /** @type {Set<string>} */
  #assets = new Set()
  #received = 0

  /**
   * @param {Subject} subject
   * @param {Page} page
   * @param {CDPSession} client
   */
  constructor(subject, page, client) {
    this.#subject = subject
    this.#page = page
    this.#client = client
  }

  /**
   * Logs in.
   * @param {Browser} browser
   * @param {Subject} subject
   */
  static async open(browser, subject) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
    const page = await context.newPage()
    page.setDefaultTimeout(TIMEOUT_MS)
    const bench = new BenchPage(subject, page, await context.newCDPSession(page))
    await bench.#watchNetwork()
    await page.goto(`${subject.origin}${subject.login}`)
    await page.waitForSelector(LIVE)
    return bench
  }

  async #watchNetwork() {
    await this.#client.send('Network.enable')
    await this.#client.send('HeapProfiler.enable')
    this.#client.on('Network.requestWillBeSent', ({ requestId, request }) => {
      if (!new URL(request.url).pathname.startsWith('/api/')) this.#assets.add(requestId)
    })
    this.#client.on('Network.dataReceived', ({ requestId, dataLength }) => {
      if (!this.#assets.has(requestId)) this.#received += dataLength
    })
  }

  /** One sample of everything. */
  async measure() {
    const { origin, slug, session } = this.#subject
    await this.#page.goto('about:blank')
    this.#received = 0
    await this.#page.goto(`${origin}/#/timeline`, { waitUntil: 'commit' })
    // From the beginning of the navigation until the page is connected and shows events.
    this.#samples.openMs.push(await this.#until([LIVE, ROW]))
    this.#samples.kilobytes.push(this.#received / 1000)
    await this.#client.send('HeapProfiler.collectGarbage')
    const { usedSize } = await this.#client.send('Runtime.getHeapUsage')
    this.#samples.heapMegabytes.push(usedSize / 1e6)
    // From a page that shows neither, since what was shown before would match too.
    this.#samples.projectMs.push(await this.#navigate(`#/projects/${slug}/policy`, `#/projects/${slug}/timeline`, ROW))
    this.#samples.sessionMs.push(await this.#navigate(`#/projects/${slug}/policy`, `#/projects/${slug}/chat?session=${session}`, MESSAGE))
  }

  /**
   * Goes elsewhere in the page; returns the time until an element matches.
   * @param {string} from
   * @param {string} to
   * @param {string} selector
   */
  async #navigate(from, to, selector) {
    await this.#page.evaluate((hash) => void (location.hash = hash), from)
    await this.#page.waitForFunction((one) => document.querySelector(one) === null, selector, { polling: 'raf' })
    const began = await this.#page.evaluate((hash) => {
      const now = performance.now()
      location.hash = hash
      return now
    }, to)
    return (await this.#until([selector])) - began
  }

  /**
   * The time since the navigation at which all selectors match.
   * @param {readonly string[]} selectors
   */
  async #until(selectors) {
    const found = await this.#page.waitForFunction((list) => list.every((one) => document.querySelector(one) !== null) && performance.now(), selectors, { polling: 'raf' })
    return Number(await found.jsonValue())
  }

  /** The medians of all samples. */
  medians() {
    /** @param {readonly number[]} list */
    const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)]
    return Object.fromEntries(Object.entries(this.#samples).map(([name, list]) => [name, median(list)]))
  }
}

const subjects = /** @type {readonly Subject[]} */ (JSON.parse(process.argv[2] ?? '[]'))
const browser = await chromium.launch({
  executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-3d-apis'],
})
try {
  const pages = []
  for (const subject of subjects) pages.push(await BenchPage.open(browser, subject))
  for (let round = 0; round < ROUNDS; round++) for (const page of pages) await page.measure()
  console.log(JSON.stringify(pages.map((page) => page.medians())))
} finally {
  await browser.close()
}

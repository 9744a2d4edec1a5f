/**
 * The control panel in a real Chromium, with a gateway in its own process. Every test of a view starts here: a violation of the
 * content security policy, an error on the console, or a request to any other server fails the test.
 */
import assert from "node:assert/strict";
import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, type TestContext } from "node:test";
import type { GatewayClient } from "@svc/sdk/client";
import type { Browser, Page } from "playwright-core";
import { type GatewayProcess, startGatewayProcess } from "../../gateway-process.ts";
import { launchBrowser } from "../../page-browser.ts";

export interface PanelScene {
  readonly gateway: GatewayProcess;
  /** Another client with every scope, to prepare data and to watch. */
  readonly client: GatewayClient;
  readonly browser: Browser;
  /** `http://127.0.0.1:<port>` */
  readonly address: string;
  readonly stateDir: string;
  /** What went wrong in any page so far; checked at the end of the test. A test that expects something removes it. */
  readonly problems: string[];
  /** A signed-in page in a fresh browser profile, at a view. */
  open(path?: string, options?: PageOptions): Promise<Page>;
  /** A page that is not signed in. */
  page(options?: PageOptions): Promise<Page>;
}

export interface PageOptions {
  readonly isPhone?: boolean;
  readonly theme?: "light" | "dark";
  readonly locale?: string;
  /** Lets the test run scripts of its own. Default false. */
  readonly bypassesPolicy?: boolean;
}

export interface SceneOptions {
  /** Configuration file. Default: none. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly env?: Record<string, string>;
  /** Called before the gateway starts, e.g. to write files of plugins. */
  readonly prepare?: (stateDir: string) => Promise<void>;
}

let launched: Promise<Browser> | undefined;

/** One browser for all tests of a file; each test has profiles of its own. */
function sharedBrowser(): Promise<Browser> {
  launched ??= launchBrowser();
  return launched;
}

after(async () => (await launched)?.close());

export async function openPanel(t: TestContext, { config, env = {}, prepare }: SceneOptions = {}): Promise<PanelScene> {
  const stateDir = await realpath(await mkdtemp(join(tmpdir(), "svc-panel-")));
  const endings: (() => Promise<unknown>)[] = [() => rm(stateDir, { recursive: true, force: true })];
  t.after(async () => {
    for (const end of endings.toReversed()) await end();
    assert.deepEqual(problems, []);
  });
  const problems: string[] = [];
  if (config) await writeFile(join(stateDir, "svc.json"), JSON.stringify(config));
  await prepare?.(stateDir);
  const gateway = await startGatewayProcess(stateDir, env);
  endings.push(() => gateway.kill("SIGTERM"));
  const client = await gateway.connect({ caps: ["tool-events"] });
  endings.push(() => client.close());
  const browser = await sharedBrowser();
  const address = gateway.url.replace(/^ws/, "http");

  async function page(options: PageOptions = {}): Promise<Page> {
    const { isPhone = false, theme = "light", locale = "en-US", bypassesPolicy = false } = options;
    const viewport = isPhone ? { width: 390, height: 844 } : { width: 1280, height: 820 };
    const look = { viewport, colorScheme: theme, locale, hasTouch: isPhone };
    const context = await browser.newContext({ ...look, bypassCSP: bypassesPolicy });
    endings.push(() => context.close());
    context.setDefaultTimeout(60_000); // many browsers share the machine with other tests
    const made = await context.newPage();
    watch(made, address, problems);
    return made;
  }
  return {
    gateway,
    client,
    browser,
    address,
    stateDir,
    problems,
    page,
    async open(path = "/", options = {}) {
      const made = await page(options);
      await made.goto(`${address}${path}#token=${gateway.token}`);
      await made.locator("main#content").waitFor();
      return made;
    },
  };
}

/** Messages of the browser about lost connections, which tests cause on purpose. */
const EXPECTED =
  /WebSocket connection to .* failed|WebSocket is already in CLOSING|net::ERR_(?:CONNECTION|ABORTED|EMPTY_RESPONSE)/;

function watch(page: Page, address: string, problems: string[]): void {
  const own = new URL(address).host;
  page.on("console", (message) => {
    const text = message.text();
    if (message.type() === "error" && !EXPECTED.test(text)) problems.push(`console: ${text}`);
  });
  page.on("pageerror", (error) => problems.push(`error: ${error.stack ?? error.message}`));
  page.on("request", (request) => {
    const { protocol, host } = new URL(request.url());
    if (!["data:", "blob:"].includes(protocol) && host !== own) problems.push(`request to ${request.url()}`);
  });
}

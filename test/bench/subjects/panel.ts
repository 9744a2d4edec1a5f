/** The control panel: what it costs before anybody opens it, and how fast it is for whoever does. Needs Chromium. */
import { readdirSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Browser, chromium, type Page } from "playwright-core";
import { findChromium } from "../../../plugins/browser/chromium/find.ts";
import { root } from "../../checkout.ts";
import { type SeededMessage, seedSessions } from "../../plugins/control-panel/usage-seed.ts";
import { atMost, percentile, ratioAtMost, type Row } from "../figures.ts";
import { makeStateDir, runGateway, type StateDir, TOKEN } from "../gateways.ts";
import { residentMiB } from "../machine.ts";
import { openSocket } from "../load/socket.ts";
import { interleave, type Subject } from "../suite.ts";

const WITHOUT = { plugins: { entries: { "control-panel": { enabled: false } } } };
const MESSAGES = 10_000;
const SESSION = "agent:main:long";
const KEYS = "A sentence of a person who types at some speed, and reads what appears. ";

/** Milliseconds from the start of the process to the first connection. */
async function started(state: StateDir): Promise<number> {
  const begun = performance.now();
  await using gateway = await runGateway(state);
  const socket = await openSocket({ url: gateway.url, token: TOKEN });
  const ms = performance.now() - begun;
  socket.close();
  return ms;
}

async function idle(state: StateDir, ms: number): Promise<number> {
  await using gateway = await runGateway(state);
  await sleep(ms);
  return residentMiB(gateway.pid);
}

/** Kilobytes that a browser loads for the first view: the page, its script and style, and the chunk of the chat, as they are sent. */
async function firstLoad(page: Page, url: string): Promise<number> {
  const sizes: Promise<number>[] = [];
  page.on("requestfinished", (request) => {
    sizes.push(request.sizes().then(({ responseBodySize }) => responseBodySize));
  });
  await page.goto(`${url}/#token=${TOKEN}`);
  await page.getByRole("textbox").first().waitFor();
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0) / 1_000;
}

/** Milliseconds from the address to a page that takes input. */
async function interactive(browser: Browser, url: string): Promise<number> {
  const context = await browser.newContext();
  const page = await context.newPage();
  const begun = performance.now();
  await page.goto(url);
  await page.getByRole("textbox").first().waitFor();
  const ms = performance.now() - begun;
  await context.close();
  return ms;
}

/** A page with nothing but a text field, for comparison. */
async function barePage(): Promise<{ readonly url: string } & AsyncDisposable> {
  const html = "<!doctype html><title>bare</title><textarea></textarea>";
  const server = createServer((_request, response) => response.setHeader("Content-Type", "text/html").end(html));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A conversation of two people who write much. @param stateDir of a gateway that runs */
function fill(stateDir: string): void {
  const begun = Date.now() - MESSAGES * 1_000;
  const messages = Array.from({ length: MESSAGES }, (_, nth): SeededMessage => ({
    role: nth % 2 === 0 ? "user" : "assistant",
    text: `Message ${nth}: some **text** with \`code\`, and a [link](https://example.com/${nth}).`,
    at: begun + nth * 1_000,
  }));
  seedSessions(stateDir, [{ key: SESSION, updatedAt: Date.now(), messages }]);
}

/** Scrolls to the start until every message is loaded. */
async function loadAll(page: Page): Promise<void> {
  const list = page.locator("svc-rows.messages");
  for (let tries = 0; tries < 400; tries++) {
    if ((await page.getByText(/^Message 0:/).count()) > 0) return;
    await list.evaluate("(element) => { element.scrollTop = 0; }");
    await sleep(25);
  }
  throw new Error("the first message never appeared");
}

/** Milliseconds from each key to the frame that shows it. */
async function typed(page: Page): Promise<readonly number[]> {
  const box = page.getByRole("textbox").last();
  await box.focus();
  await page.evaluate(`
    globalThis.typed = [];
    addEventListener("keydown", ({ timeStamp }) => requestAnimationFrame(() => setTimeout(() => typed.push(performance.now() - timeStamp))), true);
  `);
  await page.keyboard.type(KEYS, { delay: 30 });
  await sleep(100);
  return page.evaluate<number[]>("typed");
}

/** Size of everything that the build made for the page, in kilobytes; shows what a change of a library costs. */
function builtSize(): number {
  const assets = join(root, "plugins/control-panel/dist/ui/assets");
  const files = readdirSync(assets).filter((name) => name.endsWith(".br"));
  return files.reduce((sum, name) => sum + statSync(join(assets, name)).size, 0) / 1_000;
}

export const panel: Subject = {
  name: "panel",
  async measure({ starts, rounds, idleMs }) {
    await using withPanel = await makeStateDir();
    await using without = await makeStateDir(WITHOUT);
    const starting = { ours: () => started(withPanel), bare: () => started(without) };
    await interleave(1, starting);
    const begun = await interleave(starts, starting);
    const resting = await interleave(Math.min(rounds, 3), {
      ours: () => idle(withPanel, idleMs),
      bare: () => idle(without, idleMs),
    });

    const browser = await chromium.launch({
      executablePath: await findChromium(undefined),
      chromiumSandbox: false,
      args: ["--disable-dev-shm-usage"],
    });
    await using gateway = await runGateway(withPanel);
    await using bare = await barePage();
    const url = gateway.url.replace(/^ws/, "http");
    try {
      const first = await browser.newPage();
      const load = await firstLoad(first, url);
      await first.close();
      const opening = await interleave(rounds, {
        ours: () => interactive(browser, `${url}/#token=${TOKEN}`),
        bare: () => interactive(browser, bare.url),
      });
      fill(withPanel.path);
      const page = await browser.newPage();
      await page.goto(`${url}/chat?session=${encodeURIComponent(SESSION)}#token=${TOKEN}`);
      await page
        .getByText(`Message ${MESSAGES - 1}:`)
        .first()
        .waitFor();
      await loadAll(page);
      const keys = await typed(page);
      const empty = await browser.newPage();
      await empty.goto(bare.url);
      const bareKeys = await typed(empty);
      return [
        row("start, full bundle", "ms", begun.ours, "without the panel", begun.bare, ratioAtMost(1.03)),
        row("idle memory, full bundle", "MiB", resting.ours, "without the panel", resting.bare, ratioAtMost(1.01)),
        { subject: "panel", figure: "first load, compressed", unit: "kB", ours: [load], target: atMost(150, "kB") },
        { subject: "panel", figure: "all views, compressed", unit: "kB", ours: [builtSize()] },
        row("address to interactive", "ms", opening.ours, "a bare page", opening.bare, atMost(1_000, "ms")),
        row(
          `key to frame, ${MESSAGES} messages, p95`,
          "ms",
          [percentile(keys, 0.95)],
          "a bare page",
          [percentile(bareKeys, 0.95)],
          atMost(50, "ms"),
        ),
      ];
    } finally {
      await browser.close();
    }
  },
};

function row(
  figure: string,
  unit: string,
  ours: readonly number[],
  name: string,
  rounds: readonly number[],
  target: Row["target"],
): Row {
  return { subject: "panel", figure, unit, ours, bare: { name, rounds }, ...(target ? { target } : {}) };
}

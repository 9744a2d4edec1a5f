/**
 * The web panel of an existing client, unmodified: served by this gateway, and by a stranger beside the gateway's own panel. Needs its
 * files: SVC_TEST_EXISTING_PANEL, which `.ci/run` sets.
 */
import assert from "node:assert/strict";
import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";
import { it, type TestContext } from "node:test";
import type { Page } from "playwright-core";
import { without } from "../../programs.ts";
import { openPanel } from "./browser-scene.ts";

const FILES = process.env["SVC_TEST_EXISTING_PANEL"];
const skip =
  without("chromium") || (FILES === undefined && "SVC_TEST_EXISTING_PANEL names no directory with its files");
const TABS = "chat overview channels instances sessions usage cron agents skills nodes debug logs".split(" ");
const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "application/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};

/** Opens every tab. @returns failed calls and banners with errors */
async function visit(page: Page, address: string): Promise<readonly string[]> {
  const wrong: string[] = [];
  page.on("websocket", (socket) =>
    socket.on("framereceived", ({ payload }) => {
      const text = payload.toString();
      if (text.includes('"ok":false')) wrong.push(text.slice(0, 300));
    }),
  );
  await page.goto(address);
  const ask = page.getByRole("button", { name: "Confirm" });
  const list = page.getByText("Overview", { exact: true }).first();
  await ask.or(list).first().waitFor();
  if (await ask.isVisible()) await ask.click();
  await page.getByText("Health").first().waitFor();
  for (const tab of TABS) {
    await page.evaluate(`history.pushState(null, "", "/${tab}"); dispatchEvent(new PopStateEvent("popstate"));`);
    await page.waitForTimeout(400); // whatever the tab asks for, it asks for now
    wrong.push(...(await page.locator(".callout.danger").allTextContents()).map((text) => `${tab}: ${text.trim()}`));
  }
  return wrong;
}

/** Its files on another port, as an unrelated server serves them. */
async function stranger(t: TestContext, files: string): Promise<string> {
  const server = createServer(({ url = "/" }, response) => {
    const asked = join(files, normalize(new URL(url, "http://stranger").pathname));
    const file = existsSync(asked) && statSync(asked).isFile() ? asked : join(files, "index.html");
    response.setHeader("Content-Type", TYPES[extname(file)] ?? "application/octet-stream");
    createReadStream(file).pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it("works when this gateway serves it", { skip }, async (t) => {
  const config = { gateway: { aliases: ["openclaw"], controlUi: { root: FILES } } };
  const { browser, address, gateway } = await openPanel(t, { config });
  const page = await (await browser.newContext()).newPage();
  assert.deepEqual(await visit(page, `${address}/overview?token=${gateway.token}`), []);
});

it("works beside the panel of the gateway when a stranger serves it", { skip }, async (t) => {
  const elsewhere = await stranger(t, FILES ?? "");
  const config = { gateway: { aliases: ["openclaw"], controlUi: { allowedOrigins: [elsewhere] } } };
  const { browser, gateway, open } = await openPanel(t, { config });
  await open("/overview");
  const page = await (await browser.newContext()).newPage();
  const query = new URLSearchParams({ gatewayUrl: gateway.url, token: gateway.token });
  assert.deepEqual(await visit(page, `${elsewhere}/overview?${query.toString()}`), []);
});

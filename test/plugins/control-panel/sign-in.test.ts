/** How a browser gets into the control panel, and what never leaves it. In a real Chromium with a real gateway. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { devices } from "@svc/sdk/devices";
import type { Page } from "playwright-core";
import { startGatewayProcess } from "../../gateway-process.ts";
import { without } from "../../programs.ts";
import { openPanel } from "./browser-scene.ts";
import { openWith } from "./fewer-rights.ts";
import { strangeGateway } from "./strange-gateway.ts";

const skip = without("chromium");
const content = (page: Page) => page.locator("main#content");

/** Reads what the browser keeps for the panel: `kept`. */
const READ_KEPT = `
  const open = indexedDB.open("svc-panel");
  await new Promise((resolve) => (open.onsuccess = resolve));
  const all = open.result.transaction("gateways").objectStore("gateways").getAll();
  await new Promise((resolve) => (all.onsuccess = resolve));
  open.result.close();
  const kept = all.result;`;

/** Everything that scripts of the page can read in the browser's storage, as text. */
function readableStorage(page: Page): Promise<string> {
  const all = "[{ ...localStorage }, { ...sessionStorage }, kept, document.cookie, history.state]";
  return page.evaluate(`(async () => { ${READ_KEPT} return JSON.stringify(${all}); })()`);
}

describe("sign-in", { skip, concurrency: 2 }, () => {
  it("takes a token from the link, removes it from the address at once, and stores only a token of its device", async (t) => {
    const { page: newPage, address, gateway, client } = await openPanel(t);
    const page = await newPage();
    await page.goto(`${address}/overview?x=1#token=${gateway.token}`);
    await content(page).waitFor();
    assert.equal(page.url(), `${address}/overview?x=1`);
    assert.equal((await readableStorage(page)).includes(gateway.token), false);

    await page.reload(); // now with the token of the device
    await content(page).waitFor();
    const { paired } = await client.call(devices.list, {});
    assert.equal(paired.length, 1);
    assert.match(paired[0]?.displayName ?? "", /^Chrome on Linux$/);
  });

  it("signs in with an invitation exactly once", async (t) => {
    const { page: newPage, address, client } = await openPanel(t);
    const { token } = await client.call(devices.invite, {});
    const first = await newPage();
    await first.goto(`${address}/#invite=${token}`);
    await content(first).waitFor();
    assert.equal(first.url(), `${address}/`);
    const second = await newPage();
    await second.goto(`${address}/#invite=${token}`);
    await second.getByRole("heading", { name: "Sign in" }).waitFor();
    await second.getByRole("alert").waitFor(); // the reason
  });

  it("lets a browser that is known in with a link that was used up", async (t) => {
    const { open, address, client } = await openPanel(t);
    const { token } = await client.call(devices.invite, {});
    const page = await open("/overview");
    await page.goto("about:blank");
    await page.goto(`${address}/overview#invite=${token}x`);
    await content(page).waitFor();
    await page.goto("about:blank");
    await page.goto(`${address}/overview#token=former-token`);
    await content(page).waitFor();
    assert.equal(page.url(), `${address}/overview`);
  });

  it("explains a browser that refuses every storage", async (t) => {
    const { page: newPage, address, gateway } = await openPanel(t);
    const page = await newPage();
    await page.addInitScript(`for (const name of ["localStorage", "sessionStorage", "indexedDB"])
      Object.defineProperty(window, name, { get() { throw new DOMException("denied", "SecurityError"); } });`);
    await page.goto(`${address}/#token=${gateway.token}`);
    await page.getByRole("heading", { name: "Browser storage is blocked" }).waitFor();
  });

  it("leads to the first view that the browser may use", async (t) => {
    const scene = await openPanel(t);
    const page = await openWith(scene, "/", ["operator.approvals"]);
    await page.getByRole("heading", { name: "Approvals", exact: true }).waitFor();
    assert.equal(page.url(), `${scene.address}/approvals`);
    await page.getByRole("link", { name: "svc", exact: true }).click();
    await page.getByRole("heading", { name: "Approvals", exact: true }).waitFor();
  });

  it("leads a new user from the printed link to an answer with two clicks", async (t) => {
    const { page: newPage, address, client } = await openPanel(t, { config: { ui: { assistant: { name: "Ada" } } } });
    const { token } = await client.call(devices.invite, {});
    const page = await newPage();
    await page.goto(`${address}/#invite=${token}`); // the first click, in the terminal
    await page.getByRole("heading", { name: "Hello, I am Ada" }).waitFor();
    await page.getByRole("button", { name: "What can you do?" }).click();
    await page.getByText("I am the offline responder of this gateway").waitFor();
  });

  it("asks for a token, and says why a wrong one is refused", async (t) => {
    const { page: newPage, address, gateway } = await openPanel(t);
    const page = await newPage();
    await page.goto(address);
    await page.getByLabel("Token or password").fill("wrong-token");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").waitFor();
    await page.getByLabel("Token or password").fill(gateway.token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await content(page).waitFor();
  });

  it("keeps a private key that no script can export", async (t) => {
    const { open } = await openPanel(t);
    const page = await open();
    const outcome: unknown = await page.evaluate(`(async () => {
      ${READ_KEPT}
      const key = kept[0].keys.privateKey;
      return crypto.subtle.exportKey("pkcs8", key).then(() => "exported", (error) => error.name);
    })()`);
    assert.equal(outcome, "InvalidAccessError");
  });

  it("waits for an approval, and continues by itself", async (t) => {
    const {
      page: newPage,
      address,
      gateway,
      client,
    } = await openPanel(t, {
      config: { devices: { localApproval: "ask" } },
    });
    const page = await newPage();
    await page.goto(`${address}/#token=${gateway.token}`);
    await page.getByRole("heading", { name: "This browser needs approval" }).waitFor();
    const { pending } = await client.call(devices.list, {});
    const requestId = pending[0]?.requestId ?? "";
    await page.getByText(`svc devices approve ${requestId}`).waitFor();
    await client.call(devices.approve, { requestId });
    await content(page).waitFor();
  });

  it("returns to the sign-in when its device is removed", async (t) => {
    const { open, client } = await openPanel(t);
    const page = await open();
    const { paired } = await client.call(devices.list, {});
    await client.call(devices.remove, { deviceId: paired[0]?.deviceId ?? "" });
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
  });

  it("forgets its token when people sign out", async (t) => {
    const { open, address } = await openPanel(t);
    const page = await open();
    await page.getByRole("button", { name: "Panel settings" }).click();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await page.goto(address);
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
  });

  it("reconnects after a restart of the gateway", async (t) => {
    const { open, gateway, stateDir, client } = await openPanel(t);
    const page = await open("/overview");
    await page.getByRole("heading", { name: "Last conversations" }).waitFor(); // the view is loaded
    const { port } = new URL(gateway.url);
    await client.close();
    await gateway.kill("SIGTERM");
    await page.getByText("Reconnecting …").waitFor();
    await page.getByRole("link", { name: "Logs" }).click(); // its files cannot be loaded now
    // Sections of the overview that were still loading offer "Try again", too: wait until they are gone.
    await page.getByRole("heading", { name: "Last conversations" }).waitFor({ state: "hidden" });
    await page.getByRole("button", { name: "Try again" }).waitFor();
    const again = await startGatewayProcess(stateDir, {}, { port });
    try {
      await page.getByText("Reconnecting …").waitFor({ state: "hidden" });
      await page.getByRole("heading", { name: "Logs", exact: true }).waitFor();
    } finally {
      await again.kill("SIGTERM");
    }
  });
});

describe("a link that names another gateway", { skip, concurrency: 2 }, () => {
  it("sends nothing to it before people agree, and stays with its own gateway when they do not", async (t) => {
    const { open, address } = await openPanel(t);
    const page = await open();
    const { url, got } = await strangeGateway(t);
    await page.goto(`${address}/?gatewayUrl=${encodeURIComponent(url)}`);
    await page.getByRole("heading", { name: "Connect to another gateway?" }).waitFor();
    assert.equal(page.url(), `${address}/`);
    await pause(300); // whatever it would send, it would send now
    assert.deepEqual(got, []);
    await page.getByRole("button", { name: "Stay with this gateway" }).click();
    await content(page).waitFor();
    assert.deepEqual(got, []);
  });

  it("gives it neither a stored token nor the key of this gateway's device", async (t) => {
    const { open, address, client, problems } = await openPanel(t);
    const page = await open();
    const { url, got } = await strangeGateway(t);
    const { paired } = await client.call(devices.list, {});
    await page.goto(`${address}/?gatewayUrl=${encodeURIComponent(url)}`);
    await page.getByRole("button", { name: "Connect to it" }).click();
    const deadline = Date.now() + 10_000;
    while (got.length < 2 && Date.now() < deadline) await pause(20);
    const connect = JSON.parse(got[1] ?? "{}") as { params: { auth?: unknown; device: { id: string } } };
    assert.equal(connect.params.auth, undefined);
    assert.notEqual(connect.params.device.id, paired[0]?.deviceId);
    problems.length = 0; // the request to the other server is the subject of this test
  });
});

describe("a page over plain HTTP from another machine", { skip }, () => {
  it("says why it cannot prove its device, and the ways out", async (t) => {
    const { browser, address } = await openPanel(t, { config: { gateway: { controlUi: { allowedOrigins: ["*"] } } } });
    const page = await (await browser.newContext()).newPage();
    await page.goto(`http://panel.example:${new URL(address).port}/`); // a name that the browser finds on this machine
    await page.getByRole("heading", { name: "This address is not secure" }).waitFor();
    await page.getByText("ssh -N -L").waitFor();
    await page.getByText("gateway.tls.enabled").waitFor();
  });
});

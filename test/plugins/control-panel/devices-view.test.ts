/** The view Nodes and devices in a real browser, with devices that really connect. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { connect as connectTo, type ClientOptions, type GatewayClient } from "@svc/sdk/client";
import { createDevice } from "@svc/sdk/device";
import { devices } from "@svc/sdk/devices";
import { nodeInvokeRequest, nodes } from "@svc/sdk/nodes";
import { without } from "../../programs.ts";
import { until } from "../../until.ts";
import { openPanel, type PanelScene } from "./browser-scene.ts";
import { openWith } from "./fewer-rights.ts";
import { fitsWidth } from "./layout.ts";

const skip = without("chromium");
const NAME = "Ann's phone <img src=x onerror=alert(1)>";
const PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** A device that connects once as an iPhone that reads. */
async function phone({ gateway }: PanelScene, more: Partial<ClientOptions> = {}) {
  const device = createDevice();
  const client = { id: "phone-app", mode: "ui", platform: "ios", displayName: NAME, version: "2" } as const;
  const connect = (options: Partial<ClientOptions> = {}) =>
    gateway.connect({
      device,
      scopes: ["operator.read"],
      ...more,
      ...options,
      client: { ...client, ...options.client },
    });
  await (await connect()).close();
  return { device, connect };
}

/** A connected node whose policy file and answers are those of the test. */
async function node({ gateway }: PanelScene, asked: string[]): Promise<{ client: GatewayClient; id: string }> {
  const device = createDevice();
  const client = await gateway.connect({
    device,
    role: "node",
    scopes: [],
    caps: ["camera"],
    permissions: { camera: true },
    commands: ["system.notify", "device.info", "system.execApprovals.get", "system.execApprovals.set"],
    client: { id: "node-host", mode: "node", platform: "macos", displayName: "Studio <b>Mac</b>", version: "9" },
  });
  let policy = {
    path: "/mac/exec-approvals.json",
    exists: true,
    hash: "1",
    file: { version: 1, defaults: {} } as object,
  };
  const answers: Record<string, (params: { file: object; baseHash: string }) => object> = {
    "system.notify": () => ({ delivered: true, note: "<u>hostile</u>", format: "png", base64: PICTURE }),
    "system.execApprovals.get": () => policy,
    "system.execApprovals.set": ({ file, baseHash }) => {
      assert.equal(baseHash, policy.hash);
      return (policy = { ...policy, file, hash: "2" });
    },
  };
  client.on(nodeInvokeRequest, ({ id, command, paramsJSON }) => {
    asked.push(`${command} ${paramsJSON}`);
    const payload = answers[command]?.(JSON.parse(paramsJSON ?? "null") as never);
    const error = { code: "BROKEN", message: "the battery is empty" };
    const result = payload ? { ok: true, payloadJSON: JSON.stringify(payload) } : { ok: false, error };
    void client.request("node.invoke.result", { id, nodeId: device.id, ...result });
  });
  return { client, id: device.id };
}

it("judges requests, manages devices and tokens, and invites a browser", { skip, timeout: 120_000 }, async (t) => {
  const scene = await openPanel(t);
  const { client, open, page: fresh } = scene;
  const page = await open("/devices");
  const dialog = page.getByRole("dialog");
  const list = async (id: string) =>
    (await client.call(devices.list, {})).paired.find(({ deviceId }) => deviceId === id);

  await t.test("this browser is marked", async () => {
    const own = page.getByRole("article").filter({ hasText: "this browser" });
    await own.getByText("svc-control-ui · webchat").waitFor();
    assert.equal(await page.getByText("this browser", { exact: true }).count(), 1);
  });

  const { device, connect } = await phone(scene);
  await t.test("a request shows what would change; it is approved as shown", async () => {
    await assert.rejects(connect({ scopes: ["operator.read", "operator.write"], client: { platform: "android" } }));
    const request = page.getByRole("article", { name: `Request of ${NAME}` });
    await request.getByText("reports another platform").waitFor();
    await request.locator("del").getByText("ios").waitFor();
    await request.getByText("android").waitFor();
    await request.getByRole("button", { name: "Approve" }).click();
    await dialog.getByText("write", { exact: true }).waitFor();
    await dialog.getByRole("button", { name: "Approve" }).click();
    await request.waitFor({ state: "detached" });
    const { platform, scopes } = (await list(device.id)) ?? {};
    assert.deepEqual([platform, scopes], ["android", ["operator.read", "operator.write"]]);
  });

  await t.test("a request is rejected; the pairing stays", async () => {
    await assert.rejects(connect({ client: { platform: "windows" } }));
    const request = page.getByRole("article", { name: `Request of ${NAME}` });
    await request.getByRole("button", { name: "Reject" }).click();
    await dialog.getByRole("button", { name: "Reject" }).click();
    await request.waitFor({ state: "detached" });
    assert.equal((await list(device.id))?.platform, "android");
    assert.deepEqual((await client.call(devices.list, {})).pending, []);
  });

  await t.test("a name, a new token that is shown once, its end, and the removal", async () => {
    await page.getByRole("button", { name: `Rename ${NAME}` }).click();
    await dialog.getByLabel("Name").fill("Ann's phone");
    await dialog.getByRole("button", { name: "Save" }).click();
    const card = page.getByRole("article", { name: "Ann's phone", exact: true });
    await card.getByText("1 token").click();
    await card.getByRole("button", { name: "Issue a new token" }).click();
    await dialog.getByRole("button", { name: "Issue a new token" }).click();
    const token = (await dialog.locator("code").textContent()) ?? "";
    const { url } = scene.gateway;
    const asBefore = { platform: "android" };
    const opened = await connectTo({
      url,
      device,
      deviceToken: () => token,
      scopes: ["operator.read"],
      client: asBefore,
    });
    await opened.close();
    await dialog.getByRole("button", { name: "Close" }).click();
    await dialog.waitFor({ state: "detached" });
    await until(async () => !(await page.content()).includes(token), "the end of the dialog with the token");
    await card.getByRole("button", { name: "Revoke" }).click();
    await dialog.getByRole("button", { name: "Revoke" }).click();
    await card.getByText("revoked").waitFor();
    await card.getByRole("button", { name: "Remove" }).click();
    await dialog.getByRole("button", { name: "Remove" }).click();
    await card.waitFor({ state: "detached" });
    assert.equal(await list(device.id), undefined);
  });

  await t.test("an invitation lets in one browser", async () => {
    await page.getByRole("button", { name: "Invite a browser or phone" }).click();
    await dialog.getByRole("img", { name: "QR code of the invitation" }).waitFor();
    await dialog.getByRole("timer").waitFor();
    const link = (await dialog.locator("code").textContent()) ?? "";
    const guest = await fresh();
    await guest.goto(link);
    await guest.locator("main#content").waitFor();
    assert.ok(!guest.url().includes("invite"));
    await dialog.getByRole("button", { name: "Close" }).click();
    const second = await fresh();
    await second.goto(link);
    await second.getByRole("heading", { name: "Sign in" }).waitFor();
  });

  await t.test("without the right to pair, people learn why they see no devices", async () => {
    const reader = await openWith(scene, "/devices", ["operator.read"]);
    await reader.getByText("This browser lacks the scope operator.pairing").waitFor();
    assert.equal(await reader.getByRole("button", { name: "Invite" }).count(), 0);
  });
});

it("shows nodes, runs their commands and changes their rules", { skip, timeout: 120_000 }, async (t) => {
  const scene = await openPanel(t);
  const asked: string[] = [];
  const { client: mac, id } = await node(scene, asked);
  t.after(() => mac.close());
  const page = await scene.open("/devices");
  const dialog = page.getByRole("dialog");
  const card = page.getByRole("region", { name: "Nodes" }).getByRole("article");

  await t.test("what a node is and can do", async () => {
    await card.getByText("connected", { exact: true }).waitFor();
    await card.getByText("camera: Yes").waitFor();
    await card.getByText("device.info").waitFor();
  });

  await t.test("a command with parameters, a readable result with its picture, and its failures", async () => {
    await card.getByRole("button", { name: "Run a command" }).click();
    await dialog.getByLabel("Command").selectOption("system.notify");
    await dialog.getByLabel("Parameters (JSON)").fill('{ "title": ');
    await dialog.getByRole("button", { name: "Run a command" }).click();
    await dialog.getByRole("alert").getByText("The parameters are not JSON").waitFor();
    await dialog.getByLabel("Parameters (JSON)").fill('{ "title": "Hi" }');
    await dialog.getByRole("button", { name: "Run a command" }).click();
    const result = dialog.getByRole("region", { name: "Result" });
    await result.getByText("<u>hostile</u>").waitFor();
    await result.locator("img").waitFor();
    const width = await page.evaluate(
      "document.querySelector('dialog img').decode().then(() => document.querySelector('dialog img').naturalWidth)",
    );
    assert.equal(width, 1);
    assert.ok(asked.includes('system.notify {"title":"Hi"}'));
    await dialog.getByLabel("Command").selectOption("device.info");
    await dialog.getByRole("button", { name: "Run a command" }).click();
    await dialog.getByRole("alert").getByText("the battery is empty").waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
  });

  await t.test("its rules for commands", async () => {
    await card.getByRole("button", { name: "Rules for commands" }).click();
    await dialog.getByText("/mac/exec-approvals.json").waitFor();
    await dialog.getByLabel("What may run").selectOption("allowlist");
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByText("The rules are saved").waitFor();
    assert.ok(asked.some((text) => text.includes('"security":"allowlist"')));
    await dialog.getByRole("button", { name: "Close" }).click();
  });

  await t.test("its name, and that it left", async () => {
    await card.getByRole("button", { name: "Rename" }).click();
    await dialog.getByLabel("Name").fill("Studio");
    await dialog.getByRole("button", { name: "Save" }).click();
    await card.getByRole("heading", { name: "Studio", exact: true }).waitFor();
    assert.equal((await scene.client.call(nodes.describe, { nodeId: id })).displayName, "Studio");
    await mac.close();
    await card.getByText("not connected").waitFor();
  });

  await t.test("a phone shows it without sideways scrolling", async () => {
    const small = await scene.open("/devices", { isPhone: true, locale: "de-DE" });
    await small.getByRole("article", { name: "Studio" }).first().waitFor();
    await fitsWidth(small);
  });
});

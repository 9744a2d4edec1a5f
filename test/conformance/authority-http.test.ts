/**
 * The same table over HTTP: every method behind a route of kind `gateway`, and the webhook endpoints, tried with every
 * existing credential. Only the gateway's own secret is accepted by such a route, with admin access; tokens of devices and
 * nodes work only over WebSocket. Spec: http/auth.md §4.
 */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { connect } from "@svc/sdk/client";
import { createDevice } from "@svc/sdk/device";
import { testGateway, type TestGateway } from "@svc/sdk/testing";
import { channelPlugins, root } from "../checkout.ts";
import { sharedScene } from "../host/net/host-scene.ts";
import { connectNode } from "./attendance.ts";
import { expected } from "./authority-table.ts";
import { relayPlugin, routeOf } from "./caller-scenes.ts";
import { BUNDLE } from "./config-bundle.ts";
import { methods } from "./samples.ts";

const HOOK_TOKEN = "hook-token-of-the-authority-test";

/** Routes of the bundle, by the file below `plugins` that mounts them. Add new routes here. */
const ROUTES: readonly { readonly file: string; readonly method: string; readonly path: string }[] = [
  { file: "http-chat/plugin.ts", method: "POST", path: "/v1/chat/completions" },
  { file: "http-chat/plugin.ts", method: "GET", path: "/v1/models" },
  { file: "http-chat/plugin.ts", method: "GET", path: "/v1/models/svc" },
  { file: "http-responses/plugin.ts", method: "POST", path: "/v1/responses" },
  { file: "http-responses/plugin.ts", method: "GET", path: "/v1/responses/resp_1" },
  { file: "http-responses/plugin.ts", method: "DELETE", path: "/v1/responses/resp_1" },
  { file: "http-tools/plugin.ts", method: "POST", path: "/tools/invoke" },
  { file: "metrics/plugin.ts", method: "GET", path: "/metrics" },
];
/** Plugins of channels: each network proves its requests in its own way, which the tests of its plugin check. */
const NETWORKS: ReadonlySet<string> = new Set(channelPlugins().map(({ plugin }) => plugin));
/** Routes with further ways in, which the tests of their plugin check: this machine, and capabilities of nodes. */
const WITH_CAPABILITIES = ["canvas/plugin.ts"];
/** The files of the control panel are public; whoever uses it connects over WebSocket. */
const PUBLIC = ["control-panel/plugin.ts"];

/** A credential of a request, and what it grants. */
interface Carried {
  readonly name: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether routes of kind `gateway`, and webhooks, accept it. */
  readonly opens: "routes" | "webhooks" | "nothing";
}

async function start(t: TestContext) {
  const running = await testGateway(t, {
    plugins: [relayPlugin, ...BUNDLE],
    config: { hooks: { enabled: true, token: HOOK_TOKEN } },
  });
  const http = running.gateway.url.replace("ws", "http");
  return { running, http, credentials: await everyCredential(t, running) };
}

/** One valid credential of each kind. */
async function everyCredential(t: TestContext, running: TestGateway): Promise<Carried[]> {
  const { gateway, stateDir } = running;
  const place = { url: gateway.url, token: String(gateway.auth.token) };
  const operator = createDevice();
  const first = await connect({ ...place, device: operator });
  t.after(() => first.close());
  const node = await connectNode(place);
  t.after(() => node.close());
  const operatorToken = first.hello.auth?.deviceToken ?? assert.fail("no token for the operator");
  const nodeToken = node.hello.auth?.deviceToken ?? assert.fail("no token for the node");
  // The token is live: over WebSocket it is accepted.
  const back = await connect({ url: gateway.url, device: operator, deviceToken: () => operatorToken });
  t.after(() => back.close());
  assert.ok(back.hello.features.methods.length > 0);
  const localKey = (await readFile(join(stateDir, "credentials/local-key"), "utf8")).trim();

  const bearer = (name: string, secret: string, opens: Carried["opens"] = "nothing"): Carried => {
    return { name, headers: { authorization: `Bearer ${secret}` }, opens };
  };
  return [
    { name: "nothing", headers: {}, opens: "nothing" },
    bearer("a blank one", " "),
    bearer("a star", "*"),
    bearer("the gateway's token", place.token, "routes"),
    bearer("the device token of an operator", operatorToken),
    bearer("the device token of a node", nodeToken),
    bearer("the key of the state directory", localKey),
    bearer("the token of the webhooks", HOOK_TOKEN, "webhooks"),
    bearer("the id of a device", operator.id),
    { name: "a token beside a device", headers: { "x-svc-device-token": operatorToken }, opens: "nothing" },
    { name: "the gateway's token as a header of webhooks", headers: { "x-svc-token": place.token }, opens: "nothing" },
    { name: "scopes somebody claims", headers: { "x-svc-scopes": "operator.admin" }, opens: "nothing" },
  ];
}

describe("the method x credential matrix over HTTP", { timeout: 120_000 }, () => {
  const scene = sharedScene(start);

  it("accepts only the gateway's own secret, with admin access", async () => {
    const { http, credentials } = scene();
    for (const { name: carried, headers, opens } of credentials) {
      for (const name of Object.keys(methods)) {
        const answer = await fetch(http + routeOf(name), { method: "POST", headers });
        const where = `${name} with ${carried}`;
        if (opens !== "routes") {
          assert.equal(answer.status, 401, where);
          assert.deepEqual(await answer.json(), { error: { message: "Unauthorized", type: "unauthorized" } }, where);
          continue;
        }
        assert.equal(answer.status, 400, where);
        const { error } = (await answer.json()) as { error: { message: string } };
        const told = expected(name, ["operator.admin"]);
        if (told === "past the scope")
          assert.match(error.message, /^invalid .+ params: at root: must be object/, where);
        else assert.equal(`INVALID_REQUEST ${error.message}`, told, where);
      }
    }
  });

  it("covers the routes of the bundle as well", async () => {
    const { http, credentials } = scene();
    for (const { name, headers, opens } of credentials) {
      for (const { method, path } of ROUTES) {
        const { status } = await fetch(http + path, { method, headers });
        assert.equal(status === 401, opens !== "routes", `${method} ${path} with ${name}: ${status}`);
      }
    }
  });

  it("has webhook endpoints that accept only their own token", async () => {
    const { http, credentials } = scene();
    const wake = { text: "hi", mode: "next-heartbeat" };
    for (const { name, headers, opens } of credentials) {
      for (const [path, method, body] of [
        ["wake", "POST", JSON.stringify(wake)],
        ["runs/nobody", "GET", undefined],
      ] as const) {
        const answer = await fetch(`${http}/hooks/${path}`, { method, headers, ...(body ? { body } : {}) });
        // After twenty wrong ones the last are locked out, which is a refusal as well.
        const no = [401, 429];
        const yes = path === "wake" ? [200] : [404];
        assert.ok((opens === "webhooks" ? yes : no).includes(answer.status), `${path} with ${name}: ${answer.status}`);
      }
    }
  });

  it("contains every route of the bundle", async () => {
    const found: string[] = [];
    for (const file of await readdir(join(root, "plugins"), { recursive: true })) {
      if (!file.endsWith(".ts") || /(^|\/)(dist|node_modules)\//.test(file)) continue;
      if (NETWORKS.has(file.split("/", 1)[0] ?? "")) continue;
      const text = await readFile(join(root, "plugins", file), "utf8");
      found.push(...[...text.matchAll(/gateway\.route\(\s*\{/g)].map(() => file));
    }
    assert.deepEqual(found.sort(), [...ROUTES.map(({ file }) => file), ...WITH_CAPABILITIES, ...PUBLIC].sort());
  });

  it("over WebSocket, the token of webhooks and a device token without its device are refused", async () => {
    const { running, credentials } = scene();
    for (const { name, headers, opens } of credentials) {
      const [, secret] = /^Bearer (.*)$/.exec(headers["authorization"] ?? "") ?? [];
      if (secret === undefined || opens === "routes" || name.startsWith("the key of")) continue;
      for (const auth of [{ token: secret }, { password: secret }])
        await assert.rejects(running.connect({ token: "", ...auth }), /unauthorized|device identity/, name);
    }
  });
});

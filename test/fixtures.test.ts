/** The current gateway runs all plugins that were built against released versions of the plugin API. See fixtures/README.md. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { API_VERSION, defineContract, defineEvent, definePlugin, Type } from "@svc/sdk";
import { Channel, type InboundMessage } from "@svc/sdk/channels";
import { chat, chatEvent } from "@svc/sdk/chat";
import type { GatewayClient } from "@svc/sdk/client";
import { accountStateInMemory, testGateway } from "@svc/sdk/testing";
import { webhooks } from "@svc/sdk/webhooks";
import { root } from "./checkout.ts";
import { home } from "./host/cli/svc.ts";

const FIXTURES = join(root, "test/fixtures");
const HOOK_TOKEN = "fixture-hook-token-0123456789";

/** Directories of all plugins of one API version. */
const pluginsOf = (api: string) => readdirSync(join(FIXTURES, api)).map((name) => join(FIXTURES, api, name));

/** Calls a channel without building conversations: the owner of the extension point has its own tests. */
const channels = defineContract("channel-probe", {
  send: {
    summary: "-",
    scope: "operator.write",
    params: Type.Object({ to: Type.String(), text: Type.String() }),
    result: Type.Object({ messageId: Type.String(), received: Type.Array(Type.String()) }),
  },
});

const channelProbe = () =>
  definePlugin({
    id: "channel-probe",
    api: "^1.0.0",
    setup(gateway) {
      const view = gateway.own(Channel);
      const received: string[] = [];
      const receive = (message: InboundMessage) => {
        received.push(message.text);
        return Promise.resolve({ accepted: true as const, sessionKey: "main" });
      };
      gateway.start(() => {
        for (const contribution of view.list()) {
          const [account] = contribution.value.accounts;
          const [accountId, nothing] = [account?.id ?? "", () => undefined];
          const run = {
            accountId,
            settings: account?.settings,
            commands: [],
            receive,
            report: nothing,
            alive: nothing,
            openState: accountStateInMemory(),
          };
          void view.call(contribution, (channel) => channel.run({ ...run, signal: gateway.signal }));
        }
      });
      gateway.serve(channels, {
        async send({ params, signal }) {
          const [contribution] = view.list();
          assert.ok(contribution);
          const { accounts } = contribution.value;
          const to = await contribution.value.target(params.to);
          const message = {
            ...params,
            id: "m1",
            to: to ?? "",
            accountId: "default",
            settings: accounts[0]?.settings,
            signal,
          };
          const { messageId = "" } = await view.call(contribution, (channel) => channel.send(message));
          return { messageId, received };
        },
      });
    },
  });

const BUNDLED = ["storage-sqlite", "sessions", "models", "tools", "agents", "chat", "webhooks", "config", "plugins"];

const config = {
  fixtureNotes: { prefix: "* " },
  fixtureRoom: { greeting: "good day" },
  agents: { defaults: { model: "fixture-model/abacus", skipBootstrap: true } },
  hooks: { enabled: true, token: HOOK_TOKEN, presets: ["fixture-orders"] },
};

async function start(t: TestContext, api: string) {
  const running = await testGateway(t, { plugins: [...BUNDLED, channelProbe(), ...pluginsOf(api)], config });
  const http = running.gateway.url.replace("ws:", "http:");
  const post = (path: string, body: object, token = running.gateway.auth.token) =>
    fetch(http + path, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  return { ...running, http, post };
}

const noteAdded = defineEvent({
  name: "fixture-notes.added",
  summary: "-",
  payload: Type.Object({ id: Type.Integer(), text: Type.String() }),
});

async function endOf(client: GatewayClient, runId: string) {
  for (;;) {
    const { run } = await client.call(webhooks.run, { runId });
    if (run.status !== "queued" && run.status !== "running") return run;
    await sleep(10);
  }
}

it("plugins of this version of the plugin API exist", () => {
  const directory = `api-${API_VERSION.replace(/\.\d+$/, ".0")}`;
  assert.ok(
    existsSync(join(FIXTURES, directory)),
    `test/fixtures/${directory} is missing; see test/fixtures/README.md`,
  );
});

it("they are like published third-party plugins: JavaScript that imports only the SDK, by name", () => {
  for (const api of readdirSync(FIXTURES).filter((name) => name.startsWith("api-")))
    for (const directory of pluginsOf(api)) {
      const { svc, peerDependencies } = JSON.parse(readFileSync(join(directory, "package.json"), "utf8"));
      assert.equal(svc.api, `^${api.slice("api-".length)}`);
      assert.deepEqual(Object.keys(peerDependencies), ["@svc/sdk"]);
      for (const file of readdirSync(join(directory, "lib"))) {
        const imports = [...readFileSync(join(directory, "lib", file), "utf8").matchAll(/from "([^"]+)"/g)];
        assert.deepEqual(
          imports.filter(([, name]) => !/^@svc\/sdk(\/[a-z]+)?$/.test(name ?? "")),
          [],
          file,
        );
      }
    }
});

describe("plugins built against API 1.0.0", { timeout: 120_000 }, () => {
  it("are all active, with nothing inert, and use each part of the API", async (t) => {
    const { gateway, client, http, post } = await start(t, "api-1.0.0");
    const own = gateway.plugins().filter(({ id }) => id.startsWith("fixture-"));
    assert.equal(own.length, pluginsOf("api-1.0.0").length);
    for (const { id, state, reason, inert, deprecated } of own)
      assert.deepEqual([id, state, reason, inert, deprecated], [id, "active", undefined, [], undefined]);

    // namespace, event, route, configuration; hooks of each kind around them
    const heard: unknown[] = [];
    client.on(noteAdded, (note) => heard.push(note));
    assert.deepEqual(await client.request("fixture-notes.add", { text: "  one " }), { id: 1, text: "* one" });
    assert.deepEqual(await client.request("fixture-notes.get", { id: 1 }), { id: 1, text: "* one" });
    assert.deepEqual(heard, [{ id: 1, text: "* one" }]);
    await assert.rejects(client.request("fixture-notes.get", { id: 9 }), { code: "NOT_FOUND", message: "no note 9" });
    await assert.rejects(client.request("fixture-notes.add", { text: "forbidden" }), {
      code: "UNAVAILABLE",
      message: /not this one/,
    });
    const added = await post("/plugins/fixture-namespace/notes/red", { text: "two" });
    assert.deepEqual([added.status, added.headers.get("x-fixture")], [201, "yes"]);
    assert.deepEqual(await added.json(), { id: 2, text: "* red two" });
    assert.equal((await fetch(`${http}/fixture-teapot`)).status, 418);
    assert.deepEqual(await client.request("fixture-hooks.seen"), { seen: ["observe", "series", "trace"] });
    const gathered = await client.request("fixture-hooks.gather");
    assert.deepEqual(gathered, { items: ["fixture-service-user: one of the services"] });

    // services: required, followed, optional
    assert.deepEqual(await client.request("fixture-count.next"), { required: 11, followed: 12, absent: true });

    // a model provider that asks for a tool
    const ended = new Promise<unknown>((resolve) => {
      client.on(chatEvent, (event) => event.state === "final" && resolve(event.message?.content[0]));
    });
    await client.call(chat.send, { sessionKey: "main", message: "41", idempotencyKey: "fixture-1" });
    assert.deepEqual(await ended, { type: "text", text: "It is 42 for main" });

    // a channel
    const sent = await client.call(channels.send, { to: "#Ada", text: "well" });
    assert.deepEqual(sent, { messageId: "m1", received: ["good day"] });
    await assert.rejects(client.call(channels.send, { to: "#gone", text: "?" }), { code: "INVALID_REQUEST" });

    // webhook action, preset with a transform, and a tap that changes its result
    const order = await post("/hooks/orders", { order: "tea" }, HOOK_TOKEN);
    const { runId, taken } = (await order.json()) as { runId: string; taken: string };
    assert.deepEqual([order.status, taken], [200, "TEA"]);
    const run = await endOf(client, runId);
    assert.deepEqual([run.status, run.summary, run.details], ["done", "brought TEA", { order: "TEA", table: "7" }]);
    assert.equal((await post("/hooks/orders", { order: "none" }, HOOK_TOKEN)).status, 204);
  });

  it("apply a hot key while they run, and add a verb", async (t) => {
    const own = ["namespace", "cli"].map((name) => join(FIXTURES, "api-1.0.0", name));
    const { svc, run } = home(t, { plugins: { use: [...own, "plugins"] }, fixtureNotes: { prefix: "a " } });
    const { ready } = await run();
    const call = async (text: string) => {
      const params = ["--params", JSON.stringify({ text }), "--json", "--url", ready.url];
      const { stdout } = await svc(["gateway", "call", "fixture-notes.add", ...params]);
      return JSON.parse(stdout) as { id: number; text: string };
    };
    assert.equal((await call("x")).text, "a x");
    assert.equal((await svc(["config", "set", "fixtureNotes.prefix", "b "])).code, 0);
    let next = await call("x");
    while (next.text === "a x") next = await call("x"); // the file is watched
    assert.equal(next.text, "b x");
    assert.ok(next.id > 1, "the plugin was not set up again");

    const { code, stdout } = await svc(["fixture", "greet", "Ada", "--loud", "--url", ready.url]);
    assert.deepEqual([code, stdout], [0, "HELLO ADA, MANY METHODS\n"]);
    assert.match((await svc(["--help"])).stdout, /fixture/);
  });
});

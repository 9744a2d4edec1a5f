/** A changed or revoked credential ends on sockets, streams and calls. Spec: spec/README.md "revoking". */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { type Admission, defineEvent, definePlugin, type Plugin, type PluginGateway, Type } from "@svc/sdk";
import { ConfigStore } from "@svc/sdk/config";
import { Credentials } from "@svc/sdk/gateway";
import { RESUME_CAP } from "@svc/sdk/protocol";
import { testGateway } from "@svc/sdk/testing";
import { connectFrame, connectRaw, facts, openRaw, type RawSocket } from "../raw-socket.ts";
import { barrier, contractOf, directoryOf, until } from "./kernel/reload-scene.ts";

const limited = { timeout: 120_000 };
const demo = contractOf("demo", "ask", "slow");
const news = defineEvent({ name: "demo.news", summary: "-", payload: Type.Unknown() });

interface Scene {
  readonly stops: AbortSignal[];
  gateway?: PluginGateway;
  config?: ConfigStore;
  credentials?: Credentials;
  admit?: (admission: Admission) => Promise<void>;
  /** Runs before `demo.ask`. */
  check?: () => Promise<void>;
  /** Gets the error code of `demo.ask`. */
  checked?: (code: string | undefined) => void;
  emit?: (payload: unknown) => void;
  ran: number;
}

/** Serves a method, a stream without end and a form; vouches for `device:<token>`. */
function demoPlugin(scene: Scene): Plugin {
  const route = { auth: "gateway", scope: "operator.read", summary: "-" } as const;
  return definePlugin({
    id: "demo",
    api: "^1.0.0",
    requires: { config: ConfigStore, credentials: Credentials },
    setup(gateway) {
      scene.emit = gateway.event(news);
      gateway.serve(demo, {
        ask: () => (scene.ran++, { ok: true }),
        slow: ({ signal }) =>
          new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("gone")))),
      });
      gateway.hooks.rpcBefore.for("demo.ask").tap(async () => {
        await scene.check?.();
        return undefined;
      });
      gateway.hooks.rpcAfter.tap(({ method, code }) => void (method === "demo.ask" && scene.checked?.(code)));
      gateway.hooks.admit.tap(async (admission) => scene.admit?.(admission));
      gateway.hooks.authenticate.tap(({ connect }) => {
        const token = connect.auth?.token ?? "";
        return token.startsWith("device-") ? { id: `device:${token}`, scopes: ["operator.read"] } : undefined;
      });
      gateway.route({
        ...route,
        method: "GET",
        path: "/plugins/demo/stream",
        handler: ({ signal }) => {
          scene.stops.push(signal);
          return { body: endless(signal) };
        },
      });
      gateway.route({
        ...route,
        method: "POST",
        path: "/plugins/demo/form",
        handler: () => (scene.ran++, { body: "taken" }),
      });
      gateway.start(() => {
        Object.assign(scene, { gateway, config: gateway.services.config, credentials: gateway.services.credentials });
      });
    },
  });
}

async function* endless(signal: AbortSignal) {
  yield "begin\n";
  while (!signal.aborted) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    yield "more\n";
  }
}

/** Starts a gateway from a file, like an operator. */
async function start(t: TestContext, auth: object = { token: "first" }) {
  const stateDir = await directoryOf(t, "svc-credentials-");
  const file = join(stateDir, "svc.json");
  const write = (gateway: object) =>
    writeFile(file, JSON.stringify({ gateway: { reload: { debounceMs: 0 }, ...gateway } }));
  await write({ auth });
  const scene: Scene = { stops: [], ran: 0 };
  const running = await testGateway(t, { stateDir, plugins: [demoPlugin(scene)], gateway: { config: undefined } });
  const { url, port } = running.gateway;
  const base = url.replace("ws", "http");
  const patch = async (raw: object) => {
    const { hash } = (await scene.config?.snapshot()) ?? { hash: "" };
    return scene.config?.write({
      actor: "test",
      action: "test",
      mode: "patch",
      raw: JSON.stringify(raw),
      baseHash: hash,
    });
  };
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  return { ...running, url, port, base, file, write, patch, scene, bearer };
}

/** Whether a call on this connection is answered. */
async function asks(socket: RawSocket): Promise<boolean | undefined> {
  socket.send({ type: "req", id: "1", method: "demo.ask" });
  return (await socket.next(({ id }) => id === "1")).ok;
}

type Running = Awaited<ReturnType<typeof start>>;
const changes: [how: string, change: (running: Running, auth: object) => Promise<unknown>][] = [
  ["through the file", ({ write }, auth) => write({ auth })],
  ["through a plugin", ({ patch }, auth) => patch({ gateway: { auth } })],
];

for (const [how, change] of changes) {
  describe(`a token that is changed ${how}`, limited, () => {
    it("closes the sockets of the old one with 1008, ends its streams, and refuses it over HTTP; the new one works [W13.8]", async (t) => {
      const running = await start(t);
      const { url, base, bearer, scene } = running;
      const stream = await fetch(`${base}/plugins/demo/stream`, { headers: bearer("first") });
      const reader = stream.body?.getReader();
      assert.equal(new TextDecoder().decode((await reader?.read())?.value).startsWith("begin"), true);
      const sockets = await Promise.all([connectRaw(url, "first"), connectRaw(url, "first")]);
      const vouched = await connectRaw(url, "device-1", { scopes: ["operator.read"] });
      sockets[0]?.send({ type: "req", id: "slow", method: "demo.slow" });
      await change(running, { token: "second" });
      for (const socket of sockets) {
        const { code, reason } = await socket.closed;
        assert.deepEqual(
          [code, reason],
          [1008, "unauthorized: the gateway's credential was changed; connect with the new one"],
        );
      }
      const refused = await openRaw(url);
      refused.send(connectFrame("first"));
      assert.equal((await refused.next(({ id }) => id === "c1")).error?.details?.["code"], "AUTH_TOKEN_MISMATCH");
      const welcome = await connectRaw(url, "second");
      assert.equal(await asks(welcome), true);
      assert.equal(await asks(vouched), true, "who did not come by the token stays");
      for (const { ws } of [welcome, vouched]) ws.close();

      await assert.rejects(async () => {
        for (;;) if ((await reader?.read())?.done) return;
      }, "half an answer does not look whole");
      await until(() => scene.stops[0]?.aborted === true);
      const ask = (token: string) => fetch(`${base}/plugins/demo/form`, { method: "POST", headers: bearer(token) });
      assert.deepEqual([(await ask("first")).status, (await ask("second")).status], [401, 200]);
    });
  });
}

describe("between the change and the close", limited, () => {
  it("every call is refused", async (t) => {
    const { url, patch } = await start(t);
    const socket = await connectRaw(url, "first", { scopes: ["operator.admin"] });
    const changed = patch({ gateway: { auth: { token: "second" } } });
    let turn = 0;
    socket.ws.on("close", () => (turn = -1));
    while (turn >= 0 && turn < 10_000) {
      socket.ws.send(JSON.stringify({ type: "req", id: String(turn++), method: "demo.ask" }));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await changed;
    const answers = socket.frames.filter(({ id }) => id !== undefined && id !== "c1");
    const firstNo = answers.findIndex(({ ok }) => !ok);
    for (const { ok, error } of firstNo < 0 ? [] : answers.slice(firstNo)) {
      assert.equal(ok, false, "no yes after the first no");
      assert.equal(error?.details?.["code"], "AUTH_UNAUTHORIZED");
    }
    assert.equal((await socket.closed).code, 1008);
  });

  it("a call that hooks still check is refused: its handler never runs", async (t) => {
    const { url, scene } = await start(t);
    const [asked, decided, refused] = [barrier(), barrier(), barrier<string | undefined>()];
    scene.check = () => (asked.open(), decided.passed);
    scene.checked = (code) => refused.open(code);
    const socket = await connectRaw(url, "first");
    socket.send({ type: "req", id: "1", method: "demo.ask" });
    await asked.passed;
    void scene.credentials?.revoke("token", "unauthorized: revoked");
    decided.open();
    assert.deepEqual([await refused.passed, scene.ran], ["INVALID_REQUEST", 0]);
  });

  it("a plugin that still holds such a principal cannot use it", async (t) => {
    const { url, patch, scene } = await start(t);
    let dead: Admission["principal"] | undefined;
    scene.admit = async ({ principal }) => void (dead = principal);
    (await connectRaw(url, "first", { scopes: ["operator.admin"] })).ws.close();
    assert.ok(dead);
    const call = () => scene.gateway?.call(demo.ask, {}, dead ? { principal: dead } : {});
    assert.deepEqual(await call(), { ok: true });
    await patch({ gateway: { auth: { token: "second" } } });
    await assert.rejects(async () => call(), {
      code: "INVALID_REQUEST",
      message: /this credential was revoked or replaced/,
    });
  });

  it("a connect in progress is refused: no hello, and no missed events", async (t) => {
    const running = await start(t);
    const { url, patch, scene, client } = running;
    const asked = barrier();
    const gate = barrier();
    scene.admit = async () => {
      asked.open();
      await gate.passed;
    };
    const socket = await openRaw(url);
    const resume = client.hello.resume?.cursor;
    scene.emit?.("missed");
    socket.send(connectFrame("first", { caps: [RESUME_CAP], resume }));
    await asked.passed;
    await patch({ gateway: { auth: { token: "second" } } });
    gate.open();
    const { code, reason } = await socket.closed;
    assert.equal(code, 1008);
    assert.match(reason, /^unauthorized: the credential was replaced while connecting/);
    const [challenge, refusal, ...more] = socket.frames;
    assert.equal(challenge?.event, "connect.challenge");
    assert.deepEqual([refusal?.ok, facts(refusal?.error?.details), more], [false, { code: "AUTH_UNAUTHORIZED" }, []]);
  });

  it("a request with an incomplete body does not reach its handler", async (t) => {
    const { port, patch, scene } = await start(t);
    const { connect } = await import("node:net");
    const socket = connect(port, "127.0.0.1");
    t.after(() => socket.destroy());
    let answer = "";
    socket.on("data", (chunk: Buffer) => (answer += chunk.toString()));
    const head = [
      "POST /plugins/demo/form HTTP/1.1",
      "Host: x",
      "Authorization: Bearer first",
      "Content-Length: 4",
      "",
      "ab",
    ];
    socket.write(head.join("\r\n"));
    await new Promise((resolve) => setTimeout(resolve, 100)); // time to read the head; otherwise the test proves less
    await patch({ gateway: { auth: { token: "second" } } });
    socket.write("cd");
    await until(() => answer.includes("\r\n\r\n"));
    assert.match(answer, /^HTTP\/1\.1 401 /);
    assert.equal(scene.ran, 0);
  });
});

describe("other changes", limited, () => {
  it("of the mode, or of the password, close connections of the old one", async (t) => {
    const { url, patch } = await start(t, { mode: "password", password: "p" });
    const steps: [to: object, credential: object][] = [
      [{ password: "q" }, { password: "q" }],
      [{ mode: "token", token: "t" }, { token: "t" }],
      [{ mode: "none" }, {}],
      [{ mode: "token" }, { token: "t" }],
      [{ mode: "password" }, { password: "q" }],
    ];
    let socket = await connectRaw(url, undefined, { auth: { password: "p" } });
    for (const [to, credential] of steps) {
      await patch({ gateway: { auth: to } });
      assert.equal((await socket.closed).code, 1008, JSON.stringify(to));
      socket = await connectRaw(url, undefined, { auth: credential });
    }
    socket.ws.close();
  });

  it("that are unusable, or unrelated to credentials, close no connection", async (t) => {
    const { url, patch, gateway } = await start(t);
    const socket = await connectRaw(url, "first");
    await assert.rejects(patch({ gateway: { auth: { mode: "password" } } }), { code: "INVALID_REQUEST" });
    await patch({
      gateway: { controlUi: { allowedOrigins: ["https://a.example"] }, auth: { rateLimit: { maxAttempts: 3 } } },
    });
    assert.equal(await asks(socket), true);
    assert.equal(gateway.auth.token, "first");
    socket.ws.close();
  });
});

describe("a device that is revoked", limited, () => {
  it("is closed with the given reason, the others stay, and it may be approved again [W13.8]", async (t) => {
    const { url, scene } = await start(t);
    const [one, two] = [await connectRaw(url, "device-1"), await connectRaw(url, "device-2")];
    void scene.credentials?.revoke("device:device-1", "this device was removed");
    assert.deepEqual(await one.closed, { code: 1008, reason: "this device was removed" });
    assert.equal(await asks(two), true);
    const again = await connectRaw(url, "device-1");
    assert.equal(await asks(again), true);
    for (const { ws } of [two, again]) ws.close();
  });

  it("while it connects is refused", async (t) => {
    const { url, scene } = await start(t);
    const asked = barrier();
    const gate = barrier();
    scene.admit = () => (asked.open(), gate.passed);
    const socket = await openRaw(url);
    socket.send(connectFrame("device-1"));
    await asked.passed;
    void scene.credentials?.revoke("device:device-1", "removed");
    gate.open();
    assert.equal((await socket.closed).code, 1008);
  });
});

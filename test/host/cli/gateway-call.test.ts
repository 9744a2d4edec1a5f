// long: starts whole programs
import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createTcpServer, type AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { home } from "./svc.ts";
import { facts } from "../../raw-socket.ts";

const few = { plugins: { use: ["config"] } };

/** Loaded with `node --import`: reports each loaded module. */
const LOADER = `export async function load(url, context, next) {
  if (url.startsWith("file:")) (await import("node:fs")).writeSync(2, "loaded " + url + "\\n");
  return next(url, context);
}`;
const dataUrl = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`;
const TELL_MODULES = dataUrl(`import { register } from "node:module"; register(${JSON.stringify(dataUrl(LOADER))});`);

describe("svc gateway call", () => {
  it("finds a running gateway through the state directory, prints the result, and loads neither schemas nor a library of many files", async (t) => {
    const here = home(t, few);
    await here.run();
    const { code, stdout, stderr } = await here.svc(["gateway", "call", "config.get"]);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.equal(JSON.parse(stdout).path, here.configPath);
    assert.ok(stdout.startsWith("{\n  "), "indented for people");
    const compact = await here.svc(["gateway", "call", "config.get", "--json", "--params", "{}"]);
    assert.equal(compact.stdout.trimEnd().split("\n").length, 1);
    assert.deepEqual(JSON.parse(compact.stdout), JSON.parse(stdout));

    const { stderr: told } = await here.svc(["gateway", "call", "config.get"], {
      NODE_OPTIONS: `--import ${TELL_MODULES}`,
    });
    const files = [...told.matchAll(/^loaded (.*)$/gm)].map(([, url = ""]) => fileURLToPath(url));
    assert.ok(files.length > 5 && files.length < 40, files.join("\n"));
    const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0);
    assert.ok(bytes < 400_000, `${bytes} bytes`); // commander is a third of them
    for (const file of files) {
      assert.doesNotMatch(file, /node_modules/);
      assert.doesNotMatch(readFileSync(file, "utf8"), /^\/\/ node_modules\/typebox\//m, file);
    }
  });

  it("finds the credential in the configuration, the environment or a flag", async (t) => {
    const here = home(t, { ...few, gateway: { auth: { token: "s3cret" } } });
    const { ready, stop } = await here.run();
    const call = ["gateway", "call", "config.get"];
    assert.equal((await here.svc(call)).code, 0);
    const elsewhere = home(t);
    const at = [...call, "--url", ready.url];
    assert.equal((await elsewhere.svc([...at, "--token", "s3cret"])).code, 0);
    assert.equal((await elsewhere.svc(at, { SVC_GATEWAY_TOKEN: "s3cret" })).code, 0);
    const none = await elsewhere.svc(at);
    assert.equal(none.code, 1);
    assert.match(
      none.stderr,
      /^NOT_PAIRED: device identity required; no gateway was started on \/.*\/state\nNext: set SVC_STATE_DIR to the state directory of that gateway; or on the gateway's machine: svc gateway token; then connect with/,
    );
    await stop();
  });

  it("exits 1 with the refusal of the gateway and the next step: an existing method, the right token, valid params", async (t) => {
    const here = home(t, few);
    const { ready } = await here.run();
    const near = await here.svc(["gateway", "call", "config.gte"]);
    assert.equal(near.code, 1);
    assert.match(near.stderr, /unknown method: config\.gte; did you mean config\.get\?\nNext: one of config\.get, /);
    const far = await here.svc(["gateway", "call", "nope.x"]);
    assert.match(far.stderr, /unknown method: nope\.x\nNext: svc gateway methods, /);
    const { stdout } = await here.svc(["gateway", "methods"]);
    assert.match(stdout, /^config\.apply\nconfig\.get\n/);
    const listed = JSON.parse((await here.svc(["gateway", "methods", "--json"])).stdout);
    assert.deepEqual(listed, { methods: stdout.trimEnd().split("\n") });
    const absent = await here.svc(["gateway", "call", "sessions.list"]);
    assert.match(
      absent.stderr,
      /provided by plugin sessions, which is not enabled.*\nNext: svc plugins why sessions\n/,
    );

    const wrong = ["gateway", "call", "config.get", "--token", "wrong"];
    const { code, stdout: nothing, stderr } = await here.svc(wrong);
    assert.deepEqual([code, nothing], [1, ""]);
    assert.match(
      stderr,
      /^INVALID_REQUEST: unauthorized: gateway token mismatch \(use the token from .*SVC_GATEWAY_TOKEN/,
    );
    const { error } = JSON.parse((await here.svc([...wrong, "--json"])).stdout);
    assert.deepEqual(facts(error.details), { code: "AUTH_TOKEN_MISMATCH", authReason: "token_mismatch" });

    const params = await here.svc(["gateway", "call", "config.get", "--params", '{"x": 1}']);
    assert.deepEqual([params.code, params.stdout], [1, ""]);
    assert.match(params.stderr, /invalid config\.get params: at root: unexpected property 'x'/);

    const elsewhere = await here.svc(["gateway", "call", "config.get"], { SVC_GATEWAY_PORT: "1" });
    assert.equal(elsewhere.code, 3);
    assert.ok(elsewhere.stderr.includes(`(last gateway started here: --url ${ready.url})`), elsewhere.stderr);
  });
});

describe("svc gateway call without a gateway", () => {
  const next = /\nNext: start it with: svc gateway run, or choose another gateway with --url\n$/;

  it("exits 3, names the address and the command that starts one, as text or one JSON value", async (t) => {
    const { svc } = home(t, { gateway: { port: 1 } });
    const { code, stdout, stderr } = await svc(["gateway", "call", "health"]);
    assert.deepEqual([code, stdout], [3, ""]);
    assert.match(stderr, /^UNAVAILABLE: cannot reach ws:\/\/127\.0\.0\.1:1: /);
    assert.match(stderr, next);
    const json = await svc(["gateway", "call", "health", "--json"]);
    assert.deepEqual([json.code, json.stderr], [3, ""]);
    const { ok, error } = JSON.parse(json.stdout);
    assert.deepEqual([ok, error.code], [false, "UNAVAILABLE"]);
    assert.match(error.message, /svc gateway run/);
  });

  it("exits 3 when something else listens there", async (t) => {
    const web = createServer((_request, response) => void response.writeHead(404).end()).listen(0, "127.0.0.1");
    const hangUp = createTcpServer((socket) => void socket.end("220 smtp\r\n")).listen(0, "127.0.0.1");
    t.after(() => {
      web.close();
      hangUp.close();
    });
    for (const server of [web, hangUp]) {
      if (!server.listening) await new Promise((resolve) => server.once("listening", resolve));
      const { port } = server.address() as AddressInfo;
      const { code, stderr } = await home(t).svc(["gateway", "call", "health", "--url", `ws://127.0.0.1:${port}`]);
      assert.equal(code, 3, stderr);
      assert.match(stderr, next);
    }
  });

  it("exits 1, not 3, when the gateway itself cannot reach a third party", async (t) => {
    const here = home(t, { plugins: { use: ["./far.ts"] } });
    const source = `import { defineContract, definePlugin, Type, unavailable } from "@svc/sdk";
const far = defineContract("far", { ask: { summary: "x", scope: "operator.read", params: Type.Object({}), result: Type.Unknown() } });
const ask = () => unavailable("cannot reach the moon", { retryAfterMs: 1500 });
export default definePlugin({ id: "far", api: "^1.0.0", setup: (gateway) => gateway.serve(far, { ask }) });
`;
    writeFileSync(join(dirname(here.configPath), "far.ts"), source);
    await here.run();
    const { code, stderr } = await here.svc(["gateway", "call", "far.ask"]);
    assert.deepEqual([code, stderr], [1, "UNAVAILABLE: cannot reach the moon\nTry again in 2 s.\n"]);
  });
});

describe("svc gateway call, wrongly used", () => {
  const rows: [args: string[], says: RegExp][] = [
    [
      ["--params", "limit=5"],
      /^--params is not JSON: .*\nExample: svc gateway call some\.method --params '\{"limit": 5\}'\n$/,
    ],
    [
      ["--timeout", "soon"],
      /^--timeout soon: must be milliseconds, 0 for no limit\nExample: svc gateway call .* --timeout 60000\n$/,
    ],
    [["--timeout", "-1"], /--timeout/],
    [
      ["--url", "localhost:18789"],
      /"localhost:18789" is not a gateway address; use the form ws:\/\/127\.0\.0\.1:18789/,
    ],
    [["--url", "ws://"], /"ws:\/\/" is not a gateway address/],
    [["--url", "ftp://127.0.0.1"], /is not a gateway address/],
  ];
  it("exits 2, with an example", async (t) => {
    const { svc } = home(t);
    for (const [args, says] of rows) {
      const { code, stdout, stderr } = await svc(["gateway", "call", "some.method", ...args]);
      assert.deepEqual([code, stdout], [2, ""], args.join(" "));
      assert.match(stderr, says);
    }
  });
});

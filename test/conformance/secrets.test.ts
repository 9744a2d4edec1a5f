/**
 * Secrets planted everywhere one can stand, and everything that comes out searched for them: answers, events, logs,
 * HTTP, files beside the ones that hold them, the command line.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { agents, chat, config } from "@svc/sdk";
import { root } from "../checkout.ts";
import { cleanEnvironment, startGatewayProcess } from "../gateway-process.ts";
import { good, key } from "./samples.ts";

const run = promisify(execFile);
const canary = (name: string) => `canary-${name}-5d1f0a7c93be4826`;

const SECRETS = {
  token: canary("token"),
  apiKey: canary("apikey"),
  header: canary("header"),
  account: canary("account"),
  fromEnvironment: canary("env"),
  unknownPlugin: canary("unknown"),
} as const;

const CONFIG = {
  gateway: { auth: { mode: "token", token: SECRETS.token } },
  models: {
    providers: {
      one: {
        baseUrl: "http://127.0.0.1:9/v1",
        apiKey: SECRETS.apiKey,
        headers: { "X-Key": SECRETS.header },
        models: [{ id: "m1" }],
      },
      several: {
        baseUrl: "http://127.0.0.1:9/v1",
        accounts: [{ name: "second", apiKey: SECRETS.account }],
        models: [{ id: "m3" }],
      },
      two: { baseUrl: "http://127.0.0.1:9/v1", apiKey: "${CANARY_KEY}", models: [{ id: "m2" }] },
    },
  },
  notInstalled: { botToken: SECRETS.unknownPlugin, nested: { password: SECRETS.unknownPlugin } },
};

describe("secrets", { timeout: 120_000 }, () => {
  it("come out nowhere, whatever is called", async (t) => {
    const stateDir = await mkdtemp(join(tmpdir(), "svc-secrets-"));
    t.after(() => rm(stateDir, { recursive: true, force: true }));
    await writeFile(join(stateDir, "svc.json"), JSON.stringify(CONFIG, null, 2), { mode: 0o600 });
    const env = { CANARY_KEY: SECRETS.fromEnvironment };
    const gateway = await startGatewayProcess(stateDir, env, { token: SECRETS.token, logLevel: "debug" });
    t.after(() => gateway.kill());

    const seen: [sink: string, text: string][] = [];
    const client = await gateway.connect({ caps: ["tool-events"] });
    client.onEvent((frame) => seen.push([`event ${frame.event}`, JSON.stringify(frame)]));
    seen.push(["hello", JSON.stringify(client.hello)]);

    const answer = async (name: string, params: unknown) => {
      const outcome = await client
        .request(name, params, { expectFinal: true })
        .catch((error: unknown) => ({ error, text: String(error) }));
      seen.push([`answer of ${name}`, JSON.stringify(outcome, errorFields)]);
    };
    for (const [name, samples] of Object.entries(good)) {
      if (["config.set", "config.apply"].includes(name)) continue; // they would take the secrets away
      for (const sample of samples) {
        const { hash } = await client.call(config.get, {});
        await answer(name, sample({ stateDir, hash }));
        await answer(name, { [SECRETS.apiKey.slice(0, 4)]: 1 });
      }
    }
    // Provider errors carry addresses, headers and bodies of requests that had the keys in them.
    for (const model of ["one/m1", "two/m2", "several/m3"]) {
      await answer("sessions.patch", { key: "main", model });
      await client.call(chat.send, { sessionKey: "main", message: "hi", idempotencyKey: key() });
      await answer(agents.run.name, { message: "hi", sessionKey: "main", idempotencyKey: key() });
      await answer("models.test", { ref: model });
    }
    const { hash } = await client.call(config.get, {});
    await answer("config.patch", { raw: "{ models: { providers: { one: { apiKey: 7 } } } }", baseHash: hash });
    await answer("config.patch", { raw: "{ gateway: { auth: { token: '__SVC_REDACTED__' } } }", baseHash: hash });
    await answer("config.set", { raw: `{ broken: ${SECRETS.apiKey}`, baseHash: hash });

    const http = gateway.url.replace(/^ws/, "http");
    for (const path of ["/healthz", "/", "/plugins/x", "/v1/models"]) {
      for (const authorization of ["", "Bearer wrong", `Bearer ${SECRETS.token}`]) {
        const response = await fetch(http + path, { headers: { authorization } });
        seen.push([
          `HTTP ${path}`,
          `${response.status} ${JSON.stringify([...response.headers])} ${await response.text()}`,
        ]);
      }
    }
    for (const args of [
      ["config", "get"],
      ["config", "validate"],
      ["config", "schema"],
      ["config", "diff"],
      ["plugins", "list"],
      ["models", "list"],
      ["gateway", "status"],
    ]) {
      const output = await run(process.execPath, [join(root, "host/svc.js"), ...args], {
        env: cleanEnvironment(stateDir, env),
      }).catch((failed: { stdout: string; stderr: string }) => failed);
      seen.push([`svc ${args.join(" ")}`, output.stdout + output.stderr]);
    }
    await client.close();
    await gateway.kill("SIGTERM");
    seen.push(["log", gateway.log()]);
    for (const [path, text] of await filesBeside(stateDir)) seen.push([path, text]);

    for (const [name, secret] of Object.entries(SECRETS)) {
      const leaks = seen.filter(([, text]) => text.includes(secret)).map(([sink]) => sink);
      // What somebody typed as a broken value may be quoted back to the one who typed it, and to nobody else.
      const allowed = name === "apiKey" ? ["answer of config.set"] : [];
      assert.deepEqual(
        leaks.filter((sink) => !allowed.includes(sink)),
        [],
        `the ${name} came out`,
      );
    }
  });

  it("lie only in files nobody else can read", async (t) => {
    const stateDir = await mkdtemp(join(tmpdir(), "svc-secrets-"));
    t.after(() => rm(stateDir, { recursive: true, force: true }));
    const gateway = await startGatewayProcess(stateDir);
    const client = await gateway.connect();
    const { hash } = await client.call(config.get, {});
    await client.call(config.patch, {
      raw: `{ models: { providers: { p: { baseUrl: "http://127.0.0.1:9", apiKey: "${SECRETS.apiKey}", models: [] } } } }`,
      baseHash: hash,
    });
    await client.close();
    await gateway.kill("SIGTERM");
    for (const path of await everyPath(stateDir)) {
      const { mode } = await stat(path);
      assert.equal(mode & 0o077, 0, `${path} has mode ${(mode & 0o777).toString(8)}`);
    }
  });
});

function errorFields(_key: string, value: unknown): unknown {
  if (!(value instanceof Error)) return value;
  return Object.fromEntries(
    Object.getOwnPropertyNames(value).map((name) => [name, Reflect.get(value, name) as unknown]),
  );
}

async function everyPath(directory: string): Promise<string[]> {
  const names = await readdir(directory, { recursive: true });
  return [directory, ...names.map((name) => join(directory, name))];
}

/** Text of every file but those that are there to hold secrets: the configuration and its backups. */
async function filesBeside(stateDir: string): Promise<[string, string][]> {
  const files: [string, string][] = [];
  for (const path of await everyPath(stateDir)) {
    if (/svc\.json(\.bak(\.\d)?)?$/.test(path) || !(await stat(path)).isFile()) continue;
    files.push([path, (await readFile(path)).toString("latin1")]);
  }
  return files;
}

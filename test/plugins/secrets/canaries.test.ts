// long: starts whole programs
/**
 * Secrets planted where references find them, ids of secrets, and what broken files and programs print: used, failed with and
 * crashed with, and the output searched for them. `conformance/secrets.test.ts` searches the output of all methods and commands.
 * Spec: http/config.md §3.1, §6.
 */
import assert from "node:assert/strict";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, it, type TestContext } from "node:test";
import { secrets } from "@svc/sdk/secrets";
import { startFakeModelServer } from "@svc/sdk/testing";
import { startGatewayProcess } from "../../gateway-process.ts";
import { directory } from "../../directory.ts";

const canary = (name: string) => `canary-${name}-b7f3209e44c1`;

const CANARIES = {
  env: canary("env"),
  file: canary("file"),
  single: canary("single"),
  exec: canary("exec"),
  passed: canary("passed"),
  configured: canary("configured"),
  argument: canary("argument"),
  brokenFile: canary("brokenfile"),
  brokenOutput: canary("brokenoutput"),
  errorOutput: canary("erroroutput"),
  reported: canary("reported"),
  refused: canary("refused"),
} as const;

/** Ids of secrets: the configuration hides them, so no other output may contain them. */
const IDS = ["CANARY_ID_ENV_B7F3", "/canary-id-file-b7f3", "canary-id-exec-b7f3"] as const;
const [ENV_ID, FILE_ID, EXEC_ID] = IDS;

/** Files and programs outside the state directory that hold the secrets. */
async function vaults(t: TestContext) {
  const place = directory(t);
  const file = join(place, "vault.json");
  const key = FILE_ID.slice(1);
  await writeFile(file, JSON.stringify({ [key]: CANARIES.file }), { mode: 0o600 });
  const plain = async (name: string, text: string, mode = 0o600) => {
    await writeFile(join(place, name), text, { mode });
    return join(place, name);
  };
  const script = (name: string, ...lines: string[]) =>
    plain(name, ["#!/bin/sh", "cat > /dev/null", ...lines].join("\n"), 0o700);
  const answer = (values: object, more: object = {}) =>
    `printf %s '${JSON.stringify({ protocolVersion: 1, values, ...more })}'`;
  const error = `printf %s '${CANARIES.errorOutput}' >&2`;
  return {
    file,
    single: await plain("single", `${CANARIES.single}\n`),
    broken: await plain("broken.json", `{"key":"${CANARIES.brokenFile}",}`),
    wide: await plain("wide.json", JSON.stringify({ key: CANARIES.brokenFile }), 0o644),
    find: await script("find", error, answer({ [EXEC_ID]: CANARIES.exec })),
    babble: await script("babble", error, `printf %s '${CANARIES.brokenOutput}'`),
    fail: await script("fail", error, answer({ x: CANARIES.brokenOutput }), "exit 4"),
    report: await script("report", answer({}, { errors: { x: { message: CANARIES.reported } } })),
  };
}

describe("canaries", { timeout: 180_000 }, () => {
  it("come out nowhere when lookups succeed or fail, a model server quotes its key, or a plugin crashes", async (t) => {
    const place = await vaults(t);
    const stateDir = directory(t);
    const server = await startFakeModelServer({ replies: () => ({ text: "fine" }) });
    const strict = await startFakeModelServer({ apiKey: "another" }); // quotes the key it refuses
    t.after(() => Promise.all([server.close(), strict.close()]));
    const provider = (apiKey: object, baseUrl = server.url) => ({ baseUrl, apiKey, models: [{ id: "m" }] });
    const good = {
      env: provider({ source: "env", id: ENV_ID }),
      file: provider({ source: "file", provider: "file", id: FILE_ID }),
      single: provider({ source: "file", provider: "single", id: "value" }),
      exec: provider({ source: "exec", provider: "exec", id: EXEC_ID }),
    };
    const bad = {
      refused: provider({ source: "env", id: "CANARY_REFUSED" }, strict.url),
      ...Object.fromEntries(
        ["broken", "wide"].map((name) => [name, provider({ source: "file", provider: name, id: "/key" })]),
      ),
      ...Object.fromEntries(
        ["babble", "fail", "report"].map((name) => [name, provider({ source: "exec", provider: name, id: "x" })]),
      ),
    };
    const exec = (command: string) => ({
      source: "exec",
      command,
      args: [CANARIES.argument],
      passEnv: ["CANARY_PASSED"],
      env: { CONFIGURED: CANARIES.configured },
    });
    const file = {
      plugins: { load: { paths: [fileURLToPath(new URL("./crash-plugin.js", import.meta.url))] } },
      secrets: {
        providers: {
          file: { source: "file", path: place.file },
          single: { source: "file", path: place.single, mode: "singleValue" },
          broken: { source: "file", path: place.broken },
          wide: { source: "file", path: place.wide },
          exec: exec(place.find),
          babble: exec(place.babble),
          fail: exec(place.fail),
          report: exec(place.report),
        },
      },
      models: { default: "env/m", providers: { ...good, ...bad } },
      // Skipped, since no plugin reads it.
      unread: { apiKey: { source: "env", id: ENV_ID } },
    };
    await writeFile(join(stateDir, "svc.json"), JSON.stringify(file, null, 2), { mode: 0o600 });
    const env = { [ENV_ID]: CANARIES.env, CANARY_PASSED: CANARIES.passed, CANARY_REFUSED: CANARIES.refused };
    const gateway = await startGatewayProcess(stateDir, env, { logLevel: "debug" });
    t.after(() => gateway.kill());

    const seen: [sink: string, text: string][] = [];
    const client = await gateway.connect();
    client.onEvent((frame) => seen.push([`event ${frame.event}`, JSON.stringify(frame)]));
    seen.push(["hello", JSON.stringify(client.hello)]);
    const answer = async (name: string, params: unknown = {}) => {
      const outcome = await client.request(name, params).catch((error: unknown) => error);
      seen.push([`answer of ${name} ${JSON.stringify(params)}`, JSON.stringify(outcome, errorFields)]);
      return outcome;
    };

    // The model servers received the keys; otherwise the search would prove nothing.
    for (const name of Object.keys({ ...good, ...bad })) await answer("models.test", { model: `${name}/m` });
    const sent = server.requests.map(({ headers }) => headers.authorization);
    const { env: a, file: b, single: c, exec: d } = CANARIES;
    assert.deepEqual(sent, [`Bearer ${a}`, `Bearer ${b}`, `Bearer ${c}`, `Bearer ${d}`]);

    await answer("secrets.reload"); // fails: some are bad
    const rows = await client.call(secrets.list, {});
    assert.deepEqual(
      new Set(rows.secrets.map(({ state }) => state)),
      new Set(["found", "failed", "missing", "inactive"]),
    );
    for (const method of ["secrets.list", "models.list", "models.status", "config.get"]) await answer(method);
    await answer("secrets.resolve", { commandName: "x", targetIds: ["models.providers.*.apiKey"] }); // refused for the bad ones
    await answer("secrets.resolve", { commandName: "", targetIds: [CANARIES.env] });

    await answer("crash.throws");
    await answer("crash.strays");
    await answer("secrets.list");
    const gone = new Promise<number | null>((resolve) => gateway.child.once("close", resolve));
    await answer("crash.ends");
    assert.notEqual(await gone, 0, "it crashed");
    await client.close();
    const log = gateway.log();
    assert.match(log, /crashed on purpose/u);
    assert.match(log, /SECRETS_RELOADER_DEGRADED/u);
    seen.push(["log", log]);
    for (const [path, text] of await filesBeside(stateDir)) seen.push([path, text]);

    const leaks = [...Object.values(CANARIES), ...IDS].flatMap((secret) =>
      seen.filter(([, text]) => text.includes(secret)).map(([sink]) => `${secret} in ${sink}`),
    );
    assert.deepEqual(leaks, []);
  });
});

function errorFields(_key: string, value: unknown): unknown {
  if (!(value instanceof Error)) return value;
  return Object.fromEntries(
    Object.getOwnPropertyNames(value).map((name) => [name, Reflect.get(value, name) as unknown]),
  );
}

/** Text of every file except those that store secrets: the configuration, its backups and the last working one. */
async function filesBeside(stateDir: string): Promise<[path: string, text: string][]> {
  const files: [string, string][] = [];
  for (const name of await readdir(stateDir, { recursive: true })) {
    const path = join(stateDir, name);
    if (/(svc\.json(\.bak(\.\d)?)?|last-good-config\.json)$/u.test(path) || !(await stat(path)).isFile()) continue;
    files.push([path, (await readFile(path)).toString("latin1")]);
  }
  return files;
}

// long: asks every method for every secret
/**
 * Secrets planted in every possible place, and all output searched for them: responses, events, logs, HTTP, files other than
 * those that store them, the command line.
 */
import assert from "node:assert/strict";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { agents } from "@svc/sdk/agents";
import { chat } from "@svc/sdk/chat";
import { config } from "@svc/sdk/config";
import { secrets } from "@svc/sdk/secrets";
import { directoryOf } from "../host/kernel/reload-scene.ts";
import { startGatewayProcess } from "../gateway-process.ts";
import { svc } from "../run-svc.ts";
import { attend } from "./attendance.ts";
import { hookRuns } from "./hook-runs.ts";
import { good, key, methods } from "./samples.ts";
import { keepSecrets } from "./secret-places.ts";
import { keptSecrets, travel } from "./secret-traffic.ts";

const canary = (name: string) => `canary-${name}-5d1f0a7c93be4826`;

const SECRETS = {
  token: canary("token"),
  apiKey: canary("apikey"),
  header: canary("header"),
  account: canary("account"),
  fromEnvironment: canary("env"),
  unknownPlugin: canary("unknown"),
  hookToken: canary("hooktoken"),
  signingSecret: canary("signing"),
  nextSigningSecret: canary("nextsigning"),
  githubSecret: canary("github"),
  mappingSessionKey: canary("mappingsession"),
  matchedHeader: canary("matchedheader"),
  matchedCredential: canary("matchedcredential"),
  matchedField: canary("matchedfield"),
  matchedCustom: canary("matchedcustom"),
  userOfUrl: canary("userofurl"),
  queryOfUrl: canary("queryofurl"),
  searchUrl: canary("searchurl"),
  skillKey: canary("skillkey"),
  skillVariable: canary("skillvariable"),
  programArgument: canary("programargument"),
  comment: canary("comment"),
  guessedToken: canary("guess"),
  bodyField: canary("body"),
  cookie: canary("cookie"),
  byEnvironment: canary("byenvironment"),
  byFile: canary("byfile"),
  byProgram: canary("byprogram"),
  argument: canary("argument"),
  variable: canary("variable"),
  complaint: canary("complaint"),
  missingId: canary("missingid"),
  approvalEnv: canary("approvalenv"),
  invokeParams: canary("invokeparams"),
  runEnv: canary("runenv"),
  nodeAnswer: canary("nodeanswer"),
  talkKey: canary("talkkey"),
  nodeError: canary("nodeerror"),
  nodeEvent: canary("nodeevent"),
  speechKey: canary("speechkey"),
  voiceKey: canary("voicekey"),
  proxyOfSpeech: canary("proxyofspeech"),
} as const;

/** Keys of models: an admin may request them by name, and gets them. */
const MODEL_KEYS = ["apiKey", "account", "fromEnvironment", "byEnvironment", "byFile", "byProgram"];

/** Methods whose answer gives the caller a new secret, as `token`. */
const ISSUING = new Set(["device.token.rotate", "device.pair.invite"]);

/** Outputs that may contain a secret because it belongs to their reader, as `<secret> in <sink>`. */
const ALLOWED = new Set([
  // An invalid value may be quoted to the caller who typed it, and to no one else.
  "apiKey in answer of config.set",
  "talkKey in answer of talk.config", // with `includeSecrets`
  ...MODEL_KEYS.map((name) => `${name} in answer of secrets.resolve`),
]);

const SERVER = "http://127.0.0.1:9/v1";

const CONFIG = {
  gateway: { auth: { mode: "token", token: SECRETS.token } },
  models: {
    providers: {
      one: { baseUrl: SERVER, apiKey: SECRETS.apiKey, headers: { "X-Key": SECRETS.header }, models: [{ id: "m1" }] },
      several: { baseUrl: SERVER, accounts: [{ name: "second", apiKey: SECRETS.account }], models: [{ id: "m3" }] },
      user: { baseUrl: `http://user:${SECRETS.userOfUrl}@127.0.0.1:9/v1`, models: [{ id: "m4" }] },
      query: { baseUrl: `http://127.0.0.1:9/v1?key=${SECRETS.queryOfUrl}`, models: [{ id: "m5" }] },
      two: { baseUrl: SERVER, apiKey: "${CANARY_KEY}", models: [{ id: "m2" }] },
    },
  },
  messages: {
    tts: {
      openai: { apiKey: SECRETS.speechKey, baseUrl: SERVER },
      elevenlabs: { apiKey: SECRETS.voiceKey, baseUrl: SERVER },
      edge: { proxy: `http://user:${SECRETS.proxyOfSpeech}@127.0.0.1:9` },
    },
  },
  hooks: {
    enabled: true,
    token: SECRETS.hookToken,
    presets: ["github", "generic"],
    github: { secret: [SECRETS.githubSecret] },
    mappings: [
      {
        id: "signed",
        match: { path: "signed" },
        action: "wake",
        textTemplate: "{{title}}",
        verify: { type: "github", secret: [SECRETS.signingSecret, SECRETS.nextSigningSecret] },
      },
      { id: "keyed", match: { path: "keyed" }, messageTemplate: "m", sessionKey: SECRETS.mappingSessionKey },
      {
        id: "matched",
        match: {
          path: "matched",
          headers: {
            "X-Gitlab-Token": [SECRETS.matchedHeader, "other"],
            Authorization: `Basic ${SECRETS.matchedCredential}`,
            "X-Custom": SECRETS.matchedCustom,
          },
          when: {
            code: SECRETS.matchedCustom,
            "auth.token": { not: SECRETS.matchedField },
            "auth.secret": SECRETS.matchedField,
          },
        },
        action: "wake",
        textTemplate: "{{title}}",
      },
      { id: "odd", match: { path: "odd" }, action: "nobody-has-this", a: "{{title}}" },
      { id: "broken", match: { path: "broken" }, textTemplate: "x", transform: { module: "not-there.ts" } },
    ],
  },
  talk: { apiKey: SECRETS.talkKey, providers: { acme: { apiKey: SECRETS.talkKey } } },
  tools: { web: { search: { searxng: { baseUrl: `http://me:${SECRETS.searchUrl}@127.0.0.1:9` } } } },
  skills: { entries: { github: { apiKey: SECRETS.skillKey, env: { SAMPLE: SECRETS.skillVariable } } } },
  mcp: { servers: { args: { enabled: false, command: "/bin/true", args: ["--access-key", SECRETS.programArgument] } } },
  notInstalled: { botToken: SECRETS.unknownPlugin, nested: { password: SECRETS.unknownPlugin } },
};

/** By provider of models: the outcome of the reference to its key. */
const REFERENCES = { byenv: "found", byfile: "found", byprogram: "found", missing: "missing", failing: "failed" };

describe("secrets", { timeout: 300_000 }, () => {
  it("appear in no output, for any call", async (t) => {
    const stateDir = await directoryOf(t, "svc-secrets-");
    const places = await keepSecrets(t, SECRETS);
    const providers = { ...CONFIG.models.providers, ...places.providers };
    const written = { ...CONFIG, models: { providers }, secrets: places.secrets };
    const text = `// gateway: { auth: { password: "${SECRETS.comment}" } }\n${JSON.stringify(written, null, 2)}`;
    await writeFile(join(stateDir, "svc.json"), text, { mode: 0o600 });
    const env = { CANARY_KEY: SECRETS.fromEnvironment, ...places.env };
    const gateway = await startGatewayProcess(stateDir, env, { token: SECRETS.token, logLevel: "debug" });
    t.after(() => gateway.kill());

    const seen: [sink: string, text: string][] = [];
    const client = await gateway.connect({ caps: ["tool-events"] });
    client.onEvent((frame) => seen.push([`event ${frame.event}`, JSON.stringify(frame)]));
    seen.push(["hello", JSON.stringify(client.hello)]);

    const place = { url: gateway.url, token: SECRETS.token, client };
    const there = await attend(place);
    there.node.onEvent((frame) => seen.push([`event ${frame.event} of a node`, JSON.stringify(frame)]));
    /** Tokens and keys generated during the test, by name. */
    const made: Record<string, string> = {};
    const answer = async (name: string, params: unknown) => {
      const caller = methods[name]?.role === "node" ? there.node : client;
      const outcome = await caller
        .request(name, params, { expectFinal: true })
        .catch((error: unknown) => ({ error, text: String(error) }));
      const { token } = (outcome ?? {}) as { token?: unknown };
      const given = ISSUING.has(name) && typeof token === "string" ? token : undefined;
      if (given !== undefined) made[`issued${Object.keys(made).length}`] = given;
      const text = JSON.stringify(outcome, errorFields);
      seen.push([`answer of ${name}`, given === undefined ? text : text.replace(given, "what was asked for")]);
    };
    for (const [sink, text] of await sendWebhooks(gateway.url)) seen.push([sink, text]);
    const runs = await hookRuns(gateway.url, SECRETS.hookToken);
    for (const [name, samples] of Object.entries(good)) {
      if (["config.set", "config.apply"].includes(name)) continue; // they would remove the secrets
      for (const sample of samples) {
        const { hash } = await client.call(config.get, {});
        await answer(name, sample({ stateDir, hash, ...runs, ...there }));
        await answer(name, { [SECRETS.apiKey.slice(0, 4)]: 1 });
      }
    }
    for (const mapping of ["signed", "matched", "odd", "broken", "generic", "github-issue"])
      for (const headers of [{}, { "X-Gitlab-Token": "wrong", "X-Svc-Token": "wrong", Authorization: "wrong" }])
        await answer("webhooks.try", { mapping, payload: { title: "t", auth: { secret: "wrong" } }, headers });
    // Provider errors carry addresses, headers and bodies of requests that had the keys in them.
    const references = Object.keys(places.providers).map((name) => `${name}/m`);
    for (const model of ["one/m1", "two/m2", "several/m3", ...references]) {
      await answer("sessions.patch", { key: "main", model });
      await client.call(chat.send, { sessionKey: "main", message: "hi", idempotencyKey: key() });
      await answer(agents.run.name, { message: "hi", sessionKey: "main", idempotencyKey: key() });
      await answer("models.test", { ref: model });
    }
    Object.assign(made, await travel(place, SECRETS));
    // The search is meaningful: the secrets were resolved and used.
    const { secrets: listed } = await client.call(secrets.list, {});
    const states = Object.fromEntries(listed.map(({ path, state }) => [path.split(".")[2], state]));
    assert.deepEqual(states, REFERENCES);
    const { hash } = await client.call(config.get, {});
    await answer("config.patch", { raw: "{ models: { providers: { one: { apiKey: 7 } } } }", baseHash: hash });
    await answer("config.patch", { raw: "{ gateway: { auth: { token: '__SVC_REDACTED__' } } }", baseHash: hash });
    await answer("config.set", { raw: `{ broken: ${SECRETS.apiKey}`, baseHash: hash });

    const http = gateway.url.replace(/^ws/, "http");
    for (const path of ["/healthz", "/", "/plugins/x", "/v1/models"]) {
      for (const authorization of ["", "Bearer wrong", `Bearer ${SECRETS.token}`]) {
        const response = await fetch(http + path, { headers: { authorization } });
        const { status, headers } = response;
        seen.push([`HTTP ${path}`, `${status} ${JSON.stringify([...headers])} ${await response.text()}`]);
      }
    }
    for (const args of [
      ["config", "get"],
      ["config", "validate"],
      ["config", "schema"],
      ["config", "diff"],
      ["plugins", "list"],
      ["hooks", "list"],
      ["hooks", "check"],
      ["hooks", "runs"],
      ["models", "list"],
      ["gateway", "status"],
      ["secrets", "list"],
      ["secrets", "reload"],
      ["devices", "list"],
      ["nodes", "list"],
      ["nodes", "describe", there.nodeId],
      ["approvals", "list"],
      ["approvals", "grants"],
      ["approvals", "get"],
      ["pairing"],
    ]) {
      seen.push([`svc ${args.join(" ")}`, (await svc(stateDir, args, env)).text]);
    }
    Object.assign(made, await keptSecrets(stateDir));
    made["socketToken"] = await socketToken(stateDir);
    await there.node.close();
    await client.close();
    await gateway.kill("SIGTERM");
    seen.push(["log", gateway.log()]);
    for (const [path, text] of await filesBeside(stateDir)) seen.push([path, text]);

    for (const [name, secret] of Object.entries(made)) assert.ok(secret.length >= 16, `${name} is a secret`);
    const leaks = Object.entries({ ...SECRETS, ...made }).flatMap(([name, secret]) =>
      seen.filter(([sink, text]) => sink !== name && text.includes(secret)).map(([sink]) => `${name} in ${sink}`),
    );
    const own = new Set([`socketToken in ${join(stateDir, POLICY_FILE)}`]);
    assert.deepEqual(
      leaks.filter((leak) => !ALLOWED.has(leak) && !own.has(leak)),
      [],
    );
  });

  it("are stored only in files that no other user can read", async (t) => {
    const stateDir = await directoryOf(t, "svc-secrets-");
    const gateway = await startGatewayProcess(stateDir);
    const client = await gateway.connect();
    const token = (await readFile(join(stateDir, "credentials/gateway-token"), "utf8")).trim();
    const { node } = await attend({ url: gateway.url, token, client }); // with their own keys, tokens and policy file
    const { hash } = await client.call(config.get, {});
    await client.call(config.patch, {
      raw: `{ models: { providers: { p: { baseUrl: "http://127.0.0.1:9", apiKey: "${SECRETS.apiKey}", models: [] } } } }`,
      baseHash: hash,
    });
    await node.close();
    await client.close();
    await gateway.kill("SIGTERM");
    const paths = await everyPath(stateDir);
    for (const name of ["plugins/devices/token-key", POLICY_FILE])
      assert.ok(paths.includes(join(stateDir, name)), name);
    for (const path of paths) {
      const { mode } = await stat(path);
      assert.equal(mode & 0o077, 0, `${path} has mode ${(mode & 0o777).toString(8)}`);
    }
  });
});

const POLICY_FILE = "exec-approvals.json";

/** Secret that authenticates programs on the socket of the policy file. */
async function socketToken(stateDir: string): Promise<string> {
  const { socket } = JSON.parse(await readFile(join(stateDir, POLICY_FILE), "utf8")) as { socket: { token: string } };
  return socket.token;
}

/**
 * Webhooks in every state, with secrets where senders put them: headers, and fields that no template names.
 * @returns the responses to the senders
 */
async function sendWebhooks(url: string): Promise<[string, string][]> {
  const body = JSON.stringify({ text: "hi", title: "t", password: SECRETS.bodyField, auth: { secret: "wrong" } });
  const right = { authorization: `Bearer ${SECRETS.hookToken}`, cookie: `session=${SECRETS.cookie}` };
  const headersOf: Record<string, string>[] = [
    right,
    { "x-svc-token": SECRETS.hookToken, "x-gitlab-token": SECRETS.matchedHeader },
    { authorization: `Bearer ${SECRETS.guessedToken}` },
    { "x-svc-token": SECRETS.guessedToken, "x-hub-signature-256": `sha256=${"0".repeat(64)}` },
    { ...right, "x-hub-signature-256": `sha256=${"0".repeat(64)}`, "x-github-event": "issues" },
  ];
  const answers: [string, string][] = [];
  for (const path of ["wake", "signed", "matched", "odd", "broken", "github", "nothing", "runs/nobody", ""]) {
    for (const [index, headers] of headersOf.entries()) {
      for (const text of [body, `${body},`]) {
        const request = { method: "POST", headers, body: text };
        const answer = await fetch(`${url.replace(/^ws/, "http")}/hooks/${path}`, request);
        answers.push([`webhook ${path} ${index}`, `${answer.status} ${await answer.text()}`]);
      }
    }
  }
  return answers;
}

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

/** Text of every file except those that exist to store secrets: the configuration and its backups. */
async function filesBeside(stateDir: string): Promise<[string, string][]> {
  const files: [string, string][] = [];
  for (const path of await everyPath(stateDir)) {
    if (/(svc\.json(\.bak(\.\d)?)?|last-good-config\.json)$/.test(path) || !(await stat(path)).isFile()) continue;
    files.push([path, (await readFile(path)).toString("latin1")]);
  }
  return files;
}

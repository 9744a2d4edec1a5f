/** Every key that decides about access, with every value that might be read as "nothing" or "all". Spec: design/security.md "fail-open on empty". */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { connect } from "@svc/sdk/client";
import type { HostedGateway } from "@svc/sdk/testing";
import { startHost } from "../../host/net/host-scene.ts";
import { type Attempt, createDevice, knock, READ, SECRET } from "../../plugins/devices/scene.ts";

const limited = { timeout: 120_000 };
const ABSENT = Symbol("absent");
/** The values tried for every key; a row names the meaningful ones, all others are invalid. */
const VALUES = [ABSENT, null, "", " ", [], [""], [" "], "*", ["*"], {}, false, true, 0] as const;
const shown = (value: unknown) => (value === ABSENT ? "absent" : JSON.stringify(value));

type Outcome = string;
/** The gateway refuses to start, naming the key. */
const REFUSED = "refused";

interface Key {
  readonly path: string;
  readonly base?: object;
  /** By `shown`. Every other value is refused. */
  readonly means: Readonly<Record<string, Outcome>>;
  /** Determines the effect in a running gateway. */
  observe(gateway: HostedGateway, t: TestContext): Promise<Outcome>;
}

function configOf({ path, base = {} }: Key, value: unknown): Record<string, unknown> {
  const config = structuredClone({ gateway: { auth: { token: SECRET } }, ...base }) as Record<string, unknown>;
  const keys = path.split(".");
  let at = config;
  for (const key of keys.slice(0, -1)) at = (at[key] ??= {}) as Record<string, unknown>;
  if (value !== ABSENT) at[keys.at(-1) ?? ""] = value;
  return config;
}

const PLUGINS = ["storage-sqlite", "devices", "nodes", "approvals", "health"];

async function outcomeOf(t: TestContext, key: Key, value: unknown): Promise<Outcome> {
  let gateway: HostedGateway;
  try {
    gateway = await startHost(t, { plugins: PLUGINS, config: configOf(key, value) });
  } catch (error) {
    assert.match((error as Error).message, new RegExp(key.path.replaceAll(".", "\\.")), "the key is named");
    assert.match((error as Error).message, /\nNext: |; (list|set) /);
    return REFUSED;
  }
  return key.observe(gateway, t);
}

async function knocked(t: TestContext, { url }: HostedGateway, attempt: Attempt) {
  const outcome = await knock(url, attempt);
  t.after(() => outcome.socket.ws.terminate());
  return outcome;
}

/** Which of a local device, a remote one and a node the secret admits. */
async function pairing(gateway: HostedGateway, t: TestContext): Promise<Outcome> {
  const auth = { token: SECRET };
  const near = await knocked(t, gateway, { device: createDevice(), scopes: [READ], auth });
  const far = await knocked(t, gateway, { device: createDevice(), scopes: [READ], auth, far: true });
  const node = await knocked(t, gateway, { device: createDevice(), role: "node", auth, far: true });
  assert.equal(node.ok, false, "a node from afar is never let in unasked");
  const told = (one: typeof near) =>
    one.auth ? "paired" : JSON.stringify(one.details["reason"] ?? "unknown").slice(1, -1);
  return `near ${told(near)}, far ${told(far)}`;
}

/** Outcome of a question that an admin asks and answers. */
async function deciding({ url }: HostedGateway, t: TestContext): Promise<Outcome> {
  const client = await connect({ url, token: SECRET });
  t.after(() => client.close());
  const announced = new Promise<void>((resolve) =>
    client.onEvent(({ event }) => (event === "exec.approval.requested" ? resolve() : undefined)),
  );
  const asked = client.request("exec.approval.request", { id: "q", command: "ls", timeoutMs: 60_000 }).then(
    (answer) => String((answer as { decision: unknown }).decision),
    ({ message }: Error) => (message.startsWith("unknown method") ? "cannot ask" : message),
  );
  await Promise.race([announced, asked]);
  const decided = await client.request("exec.approval.resolve", { id: "q", decision: "allow-once" }).then(
    () => "decides",
    () => "does not decide",
  );
  return `${decided}, ${await asked}`;
}

/** Commands of a Linux node that declares one command that is allowed by default, and one that is not. */
async function commands(gateway: HostedGateway, t: TestContext): Promise<Outcome> {
  const declared = ["camera.snap", "system.notify", "*", " "];
  const [device, commands] = [createDevice(), declared.slice(0, 3)];
  const attempt: Attempt = { device, role: "node", auth: { token: SECRET }, commands };
  await knocked(t, gateway, attempt);
  const client = await connect({ url: gateway.url, token: SECRET });
  t.after(() => client.close());
  const listed = await client.request("node.list", {}).catch(() => ({ nodes: [] }));
  const { nodes } = listed as { nodes: { commands: string[] }[] };
  return nodes.flatMap((node) => node.commands).join() || "none";
}

/** Whether a proxy is believed: about a client that it names, and about a client that it calls local. */
async function proxied(gateway: HostedGateway, t: TestContext): Promise<Outcome> {
  const auth = { token: SECRET };
  const headers = { "x-forwarded-for": "127.0.0.1" };
  const { ok } = await knocked(t, gateway, { device: createDevice(), scopes: [READ], auth, headers });
  return ok ? "a forwarded client is local" : "a forwarded client is not local";
}

/** Which users a trusted proxy may name. */
async function users(gateway: HostedGateway, t: TestContext): Promise<Outcome> {
  const may: string[] = [];
  for (const user of ["ada", "*", " ", ""]) {
    const { ok } = await knocked(t, gateway, { scopes: [READ], headers: { "x-user": user, ...FROM_PROXY } });
    if (ok) may.push(JSON.stringify(user));
  }
  return may.join() || "nobody";
}

/** Which remote pages may connect with the secret. */
async function pages(gateway: HostedGateway, t: TestContext): Promise<Outcome> {
  const may: string[] = [];
  for (const origin of ["https://evil.example", "null", " ", "*", "http://gateway.example"]) {
    const client = { id: "webchat", mode: "webchat" } as const;
    const { ok } = await knocked(t, gateway, { auth: { token: SECRET }, client, far: true, headers: { origin } });
    if (ok) may.push(origin);
  }
  return may.join() || "none";
}

/** Which secrets admit a program. */
async function secrets(gateway: HostedGateway, t: TestContext): Promise<Outcome> {
  const may: string[] = [];
  for (const token of [undefined, "", " ", "*", SECRET, "undefined", "null"]) {
    const { ok } = await knocked(t, gateway, { scopes: [READ], ...(token === undefined ? {} : { auth: { token } }) });
    if (ok) may.push(token ?? "nothing");
  }
  return may.join() || "one it made";
}

const FROM_PROXY = { "x-svc-proxy-secret": "proxy-secret-of-this-test" };
const PROXY = { mode: "trusted-proxy", trustedProxy: { userHeader: "x-user", secret: "proxy-secret-of-this-test" } };
const NEAR_ONLY = "near paired, far not-paired";
const USUAL = { absent: "system.notify", "[]": "system.notify" };
const NOBODY = "does not decide, null";
const STRANGER = "a forwarded client is not local";

const KEYS: readonly Key[] = [
  { path: "devices.localApproval", means: { absent: NEAR_ONLY }, observe: pairing },
  { path: "devices", means: { absent: NEAR_ONLY, "{}": NEAR_ONLY }, observe: pairing },
  {
    path: "approvals.approvers",
    means: { absent: "decides, allow-once", "[]": NOBODY, '[""]': NOBODY, '[" "]': NOBODY, '["*"]': NOBODY },
    observe: deciding,
  },
  { path: "gateway.nodes.allowCommands", means: USUAL, observe: commands },
  { path: "gateway.nodes.denyCommands", means: USUAL, observe: commands },
  {
    path: "gateway.trustedProxies",
    means: { absent: STRANGER, "[]": STRANGER, '[" "]': STRANGER, '["*"]': STRANGER },
    observe: proxied,
  },
  {
    path: "gateway.auth.trustedProxy.allowUsers",
    base: { gateway: { auth: PROXY, trustedProxies: ["127.0.0.1"] } },
    // Spec: protocol/frames-and-connect.md §7: every user the proxy lets through. `*` is a name.
    means: { absent: '"ada","*"', "[]": '"ada","*"', '[" "]': "nobody", '["*"]': '"*"' },
    observe: users,
  },
  {
    path: "gateway.trustedProxies",
    base: { gateway: { auth: PROXY } },
    means: {}, // no entry is an address, so no proxy is trusted
    observe: users,
  },
  {
    path: "gateway.controlUi.allowedOrigins",
    // Spec: §8: the star allows every origin; a missing origin is not one.
    means: { absent: "none", "[]": "none", '[" "]': "none", '["*"]': "https://evil.example,http://gateway.example" },
    observe: pages,
  },
  {
    path: "gateway.auth.token",
    base: { gateway: { auth: {} } },
    means: { absent: "one it made", '""': "one it made", '" "': "one it made", '"*"': "*" },
    observe: secrets,
  },
  {
    path: "gateway.auth",
    base: { gateway: {} },
    means: { absent: "one it made", "{}": "one it made" },
    observe: secrets,
  },
  {
    path: "gateway.auth.mode",
    means: { absent: SECRET },
    observe: secrets,
  },
];

describe("a key that decides about access, with a meaningless value", limited, () => {
  for (const key of KEYS) {
    it(`${key.path}${key.base ? ` of ${JSON.stringify(key.base)}` : ""}`, async (t) => {
      for (const value of VALUES) {
        const expected = key.means[shown(value)] ?? REFUSED;
        assert.equal(await outcomeOf(t, key, value), expected, `${key.path}: ${shown(value)}`);
      }
    });
  }
});

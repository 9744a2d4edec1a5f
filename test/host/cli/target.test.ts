/** Which gateway a command connects to. Spec: http/auth.md §2 "Client/CLI-side order". */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { resolveTarget, type Target, type TargetFlags } from "../../../host/cli/target.ts";
import { directory } from "../../directory.ts";

interface Situation {
  readonly flags?: TargetFlags;
  readonly env?: Record<string, string>;
  readonly config?: unknown;
  /** Address in the report of the last start. */
  readonly last?: unknown;
  /** Fingerprint in that report. */
  readonly fingerprint?: string;
  readonly kept?: string;
  readonly localKey?: string;
}

async function target(
  t: TestContext,
  { flags = {}, env = {}, config, last, fingerprint, kept, localKey }: Situation,
): Promise<Target> {
  const stateDir = directory(t);
  if (config !== undefined) writeFileSync(join(stateDir, "svc.json"), JSON.stringify(config));
  if (last !== undefined)
    writeFileSync(join(stateDir, "startup-report.json"), JSON.stringify({ url: last, tlsFingerprint: fingerprint }));
  mkdirSync(join(stateDir, "credentials"));
  if (kept !== undefined) writeFileSync(join(stateDir, "credentials/gateway-token"), `${kept}\n`);
  if (localKey !== undefined) writeFileSync(join(stateDir, "credentials/local-key"), `${localKey}\n`);
  return resolveTarget(flags, { ...env, SVC_STATE_DIR: stateDir });
}

describe("the address", () => {
  const [last, six, seven] = ["ws://127.0.0.1:5", "ws://127.0.0.1:6", { SVC_GATEWAY_PORT: "7" }];
  const gateway = (more: object) => ({ gateway: { port: 6, ...more } });
  const rows: [why: string, situation: Situation, url: string][] = [
    ["the default without other information", {}, "ws://127.0.0.1:18789"],
    ["the last start", { last }, last],
    ["the configuration before the last start", { config: gateway({}), last }, six],
    ["the environment before the configuration [H2.2]", { env: seven, config: gateway({}) }, "ws://127.0.0.1:7"],
    ["a blank variable is ignored", { env: { SVC_GATEWAY_PORT: " " }, config: gateway({}) }, six],
    ["a flag before all", { flags: { url: "wss://x" }, env: seven, last }, "wss://x"],
    ["TLS in the configuration", { config: gateway({ tls: { enabled: true } }) }, "wss://127.0.0.1:6"],
    ["port 0 is ignored", { config: gateway({ port: 0 }), last }, last],
    ["an address of its own", { config: gateway({ bind: "custom", customBindHost: "10.0.0.5" }) }, "ws://10.0.0.5:6"],
    ["an address that is not in use", { config: gateway({ customBindHost: "10.0.0.5" }) }, six],
    ["a report without address", { last: 5 }, "ws://127.0.0.1:18789"],
    ["a crooked configuration", { config: { gateway: null } }, "ws://127.0.0.1:18789"],
  ];
  for (const [why, situation, url] of rows) {
    it(`${why}: ${url}`, async (t) => assert.equal((await target(t, situation)).url, url));
  }
});

describe("the credential", () => {
  const config = { gateway: { auth: { token: "configured", password: "pw" } } };
  const env = { SVC_GATEWAY_TOKEN: "e", SVC_GATEWAY_PASSWORD: "f" };
  const blank = { gateway: { auth: { token: " ", password: "\t" } } };
  const rows: [why: string, situation: Situation, token: string | undefined, password: string | undefined][] = [
    ["none", {}, undefined, undefined],
    ["the stored one", { kept: "kept" }, "kept", undefined],
    ["the configuration before the stored one", { config, kept: "kept" }, "configured", "pw"],
    ["the environment before the configuration", { config, env }, "e", "f"],
    ["flags before all", { config, env, flags: { token: "flag", password: "flag2" } }, "flag", "flag2"],
    ["an empty flag is ignored", { config, flags: { token: "" } }, undefined, "pw"],
    ["blank everywhere", { config: blank, env: { SVC_GATEWAY_TOKEN: " " }, kept: "kept" }, "kept", undefined],
    ["of a wrong type", { config: { gateway: { auth: { token: 5, password: [] } } }, kept: "kept" }, "kept", undefined],
  ];
  for (const [why, situation, token, password] of rows) {
    it(`${why}: ${token ?? "no token"}, ${password ?? "no password"}`, async (t) => {
      const found = await target(t, situation);
      assert.deepEqual([found.token, found.password], [token, password]);
    });
  }
});

describe("credentials in the state directory", () => {
  const config = { gateway: { auth: { token: "configured", password: "pw" } } };
  const all: Situation = { config, kept: "kept", localKey: "key" };
  const sent = ["configured", "pw", "key"];
  const kept = [undefined, undefined, undefined];
  const to = (url: string, more: Situation = {}): Situation => ({ ...all, ...more, flags: { url, ...more.flags } });
  const rows: [why: string, situation: Situation, known: (string | undefined)[]][] = [
    ["are sent to the gateway of this state directory", all, sent],
    ["are sent to its loopback address", to("ws://127.0.0.1:18789"), sent],
    ["are sent to ::1", to("ws://[::1]:18789"), sent],
    ["are sent to localhost", to("ws://localhost:18789"), sent],
    ["are sent to the address of the last start", to("ws://localhost:5", { last: "ws://127.0.0.1:5" }), sent],
    ["are not sent to another port of this machine", to("ws://127.0.0.1:9"), kept],
    ["are not sent to the default port with another scheme", to("wss://localhost"), kept],
    ["are not sent to another machine", to("wss://gateway.example"), kept],
    ["are not sent to similar host names", to("ws://127.0.0.1.example:9"), kept],
    [
      "do not replace an explicit credential",
      to("wss://gateway.example", { flags: { token: "flag" } }),
      ["flag", undefined, undefined],
    ],
    ["are only the local key if nothing else exists", { localKey: "key" }, [undefined, undefined, "key"]],
  ];
  for (const [why, situation, known] of rows)
    it(why, async (t) => {
      const { token, password, localKey } = await target(t, situation);
      assert.deepEqual([token, password, localKey], known);
    });

  it("record whether the user named the credential", async (t) => {
    assert.equal((await target(t, all)).isExplicit, false);
    assert.equal((await target(t, { ...all, flags: { token: "x" } })).isExplicit, true);
    assert.equal((await target(t, { ...all, env: { SVC_GATEWAY_PASSWORD: "x" } })).isExplicit, true);
  });
});

describe("the certificate that is trusted", () => {
  const here = { last: "wss://127.0.0.1:5", fingerprint: "AA" };
  const env = { SVC_GATEWAY_TLS_FINGERPRINT: "BB" };
  const rows: [why: string, situation: Situation, expected: string | undefined][] = [
    ["the one that the gateway of this state directory shows", here, "AA"],
    ["that one under another name of this machine", { ...here, flags: { url: "wss://localhost:5" } }, "AA"],
    ["not for another port", { ...here, flags: { url: "wss://127.0.0.1:6" } }, undefined],
    ["not for another machine", { ...here, flags: { url: "wss://gw.example:5" } }, undefined],
    ["not without TLS", { ...here, flags: { url: "ws://127.0.0.1:5" } }, undefined],
    ["the environment before it", { ...here, env }, "BB"],
    ["a flag before all", { ...here, env, flags: { url: "wss://gw.example", tlsFingerprint: "CC" } }, "CC"],
  ];
  for (const [why, situation, expected] of rows) {
    it(`is ${why}`, async (t) => assert.equal((await target(t, situation)).tlsFingerprint, expected));
  }
});

/** Every field of `connect`, on the wire. Spec: protocol/frames-and-connect.md §4; spec/README.md (ids and modes). */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { connectFrame } from "../../raw-socket.ts";
import { shared, withProof } from "./scene.ts";

const limited = { timeout: 120_000 };
const client = { id: "cli", version: "1", platform: "linux", mode: "cli" };

describe("connect params that are accepted [W4.3 W4.5 W4.7 W4.9 W4.14 W4.23]", limited, () => {
  const scene = shared();
  const accepted: [field: string, params: object][] = [
    ["minProtocol and maxProtocol around 3 [W4.1]", { minProtocol: 1, maxProtocol: 99 }],
    ["caps", { caps: ["tool-events", "anything"] }],
    ["no caps", { caps: [] }],
    ["commands", { commands: ["system.run"] }],
    ["permissions", { permissions: { "camera.snap": true, other: false } }],
    ["pathEnv", { pathEnv: "/usr/bin:/bin" }],
    ["an empty pathEnv", { pathEnv: "" }],
    ["role operator [W4.10]", { role: "operator" }],
    ["no role [W4.10]", { role: undefined }],
    ["no scopes [W4.11]", { scopes: undefined }],
    ["unknown scopes", { scopes: ["operator.novelty"] }],
    ["locale", { locale: "de-DE" }],
    ["userAgent", { userAgent: "x/1" }],
    ["client.displayName [W4.16]", { client: { ...client, displayName: "desk" } }],
    ["client.deviceFamily [W4.19]", { client: { ...client, deviceFamily: "Mac" } }],
    ["client.modelIdentifier [W4.20]", { client: { ...client, modelIdentifier: "Mac14,2" } }],
    ["client.instanceId [W4.22]", { client: { ...client, instanceId: "i-1" } }],
    ["client.platform in free text [W4.18]", { client: { ...client, platform: "iOS 18.1" } }],
    ["an unknown field of client", { client: { ...client, novelty: true } }],
  ];
  for (const [field, params] of accepted)
    it(`accepts ${field}`, async () => assert.equal((await scene().attempt(params)).told, "ok"));

  const programs = ["cli", "gateway-client", "svc-macos", "svc-ios", "svc-android", "node-host", "test", "fingerprint"];
  for (const id of [...programs, "svc-probe", "webchat", "ios-node"])
    it(`accepts client.id ${id} [W4.15]`, async () =>
      assert.equal((await scene().attempt({ client: { ...client, id } })).told, "ok"));
  for (const mode of ["cli", "ui", "backend", "node", "probe", "test", "operator"])
    it(`accepts client.mode ${mode} [W4.21]`, async () =>
      assert.equal((await scene().attempt({ client: { ...client, mode } })).told, "ok"));

  const derived: [flag: string, client: object, outcome: RegExp][] = [
    ["control UI by id", { id: "svc-control-ui", mode: "ui" }, /^ORIGIN_NOT_ALLOWED$/],
    ["webchat by id", { id: "webchat-ui", mode: "ui" }, /^ORIGIN_NOT_ALLOWED$/],
    ["webchat by mode", { id: "cli", mode: "webchat" }, /^ORIGIN_NOT_ALLOWED$/],
    ["id webchat alone is not a web client", { id: "webchat", mode: "ui" }, /^ok$/],
    ["mode ui alone is not a web client [W4.25]", { id: "gateway-client", mode: "ui" }, /^ok$/],
  ];
  for (const [flag, changes, outcome] of derived)
    it(`derives: ${flag} [W4.30]`, async () =>
      assert.match((await scene().attempt({ client: { ...client, ...changes } })).told, outcome));
});

describe("connect params that are refused", limited, () => {
  const scene = shared();
  const refused: [why: string, params: object, says: RegExp][] = [
    ["an unknown key", { novelty: 1 }, /at root: unexpected property 'novelty'/],
    ["no minProtocol [W4.1]", { minProtocol: undefined }, /minProtocol/],
    ["no maxProtocol", { maxProtocol: undefined }, /maxProtocol/],
    ["minProtocol 0 [W4.1]", { minProtocol: 0 }, /at \/minProtocol: /],
    ["no client [W4.2]", { client: undefined }, /client/],
    ["client as text [W4.2]", { client: "cli" }, /at \/client: /],
    ["no client.id", { client: { ...client, id: undefined } }, /at \/client: /],
    ["an empty client.id [W4.15]", { client: { ...client, id: "" } }, /at \/client\/id: /],
    ["an empty client.version [W4.17]", { client: { ...client, version: "" } }, /at \/client\/version: /],
    ["no client.platform [W4.18]", { client: { ...client, platform: undefined } }, /at \/client: /],
    ["an empty client.mode [W4.21]", { client: { ...client, mode: "" } }, /at \/client\/mode: /],
    ["an empty client.displayName [W4.16]", { client: { ...client, displayName: "" } }, /at \/client\/displayName: /],
    [
      "an empty client.deviceFamily [W4.19]",
      { client: { ...client, deviceFamily: "" } },
      /at \/client\/deviceFamily: /,
    ],
    ["an empty client.instanceId [W4.22]", { client: { ...client, instanceId: "" } }, /at \/client\/instanceId: /],
    [
      "an empty client.modelIdentifier [W4.20]",
      { client: { ...client, modelIdentifier: "" } },
      /at \/client\/modelIdentifier/,
    ],
    ["an empty cap [W4.3]", { caps: [""] }, /at \/caps\/0: /],
    ["an empty command [W4.5]", { commands: [""] }, /at \/commands\/0: /],
    ["a permission that is not a boolean [W4.7]", { permissions: { a: "yes" } }, /at \/permissions\/a: /],
    ["pathEnv as a list [W4.9]", { pathEnv: ["/bin"] }, /at \/pathEnv: /],
    ["an empty role [W4.10]", { role: "" }, /at \/role: /],
    ["an empty scope [W4.11]", { scopes: [""] }, /at \/scopes\/0: /],
    ["scopes as text [W4.11]", { scopes: "operator.read" }, /at \/scopes: /],
    ["an unknown key of auth [W4.13]", { auth: { key: "x" } }, /at \/auth: unexpected property 'key'/],
    ["auth.token as a number [W4.13]", { auth: { token: 1 } }, /at \/auth\/token: /],
    ["auth.deviceToken as null [W4.13]", { auth: { deviceToken: null } }, /at \/auth\/deviceToken: /],
    ["locale as a number [W4.14]", { locale: 1 }, /at \/locale: /],
    ["userAgent as null [W4.14]", { userAgent: null }, /at \/userAgent: /],
  ];
  for (const [why, params, says] of refused) {
    it(`refuses ${why}, with the same message in the close`, async () => {
      const { answer, close } = await scene().attempt(params);
      const message = String(answer?.error?.message);
      assert.equal(answer?.error?.code, "INVALID_REQUEST");
      assert.match(message, /^invalid connect params: /);
      assert.match(message, says);
      assert.deepEqual(close, { code: 1008, reason: message.slice(0, 120) });
    });
  }

  const fields: [why: string, sent: Record<string, unknown>, says: RegExp][] = [
    ["an unknown key", { extra: 1 }, /at \/device: unexpected property 'extra'/],
    ["no nonce [W6.20]", { nonce: undefined }, /at \/device: /],
    ["an empty nonce", { nonce: "" }, /at \/device\/nonce: /],
    ["no signature", { signature: undefined }, /at \/device: /],
    ["no publicKey", { publicKey: undefined }, /at \/device: /],
    ["no id", { id: undefined }, /at \/device: /],
    ["half a millisecond", { signedAt: 1.5 }, /at \/device\/signedAt: /],
  ];
  for (const [why, sent, says] of fields) {
    it(`refuses a device with ${why} [W4.12]`, async () => {
      const socket = await scene().open();
      socket.send(connectFrame(undefined, withProof(socket, {}, { sent })));
      const { error } = await socket.next(({ id }) => id === "c1");
      assert.match(String(error?.message), /^invalid connect params: /);
      assert.match(String(error?.message), says);
      assert.equal((await socket.closed).code, 1008);
    });
  }
});

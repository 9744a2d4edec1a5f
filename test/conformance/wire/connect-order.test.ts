/** Each check of `connect` precedes the next: a request that fails two of them gets the first error. Spec: protocol/frames-and-connect.md §5. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { connectFrame, facts } from "../../raw-socket.ts";
import { outcomeOf, shared, withProof } from "./scene.ts";

const evil = { origin: "https://evil.example" };
const panel = { id: "svc-control-ui", version: "1", platform: "web", mode: "webchat" };

describe("the order of checks in connect", { timeout: 120_000 }, () => {
  const scene = shared({ gateway: { auth: { rateLimit: { maxAttempts: 1_000 } } } });

  it("0 JSON: no answer, 1000 without a reason [W13.1 W5.1]", async () => {
    const socket = await scene().open();
    socket.send("{");
    assert.deepEqual(await socket.closed, { code: 1000, reason: "" });
    assert.equal(socket.frames.length, 1);
  });

  it("1 the frame, before the method: no answer [W5.2]", async () => {
    const socket = await scene().open();
    socket.send({ type: "req", id: "c1", method: "health", extra: 1 });
    assert.deepEqual(await socket.closed, { code: 1008, reason: "invalid request frame" });
    assert.equal(socket.frames.length, 1);
  });

  it("2 the method, before the params [W3.2 W5.3]", async () => {
    const { answer, close } = await scene().attempt({ novelty: 1 }, {}, { method: "health" });
    assert.match(String(answer?.error?.message), /^invalid handshake: /);
    assert.deepEqual([answer?.error?.code, close?.code], ["INVALID_REQUEST", 1008]);
    assert.equal(close?.reason, answer?.error?.message);
  });

  it("4 the version, before the schema by decision [W13.2 W5.5]", async () => {
    for (const [minProtocol, maxProtocol] of [
      [1, 2],
      [9, 1],
    ]) {
      const { answer, close } = await scene().attempt({ minProtocol, maxProtocol, novelty: 1, role: "king" });
      assert.deepEqual(
        [answer?.error?.code, answer?.error?.message, facts(answer?.error?.details)],
        ["PROTOCOL_MISMATCH", "protocol mismatch", { code: "PROTOCOL_MISMATCH", expectedProtocol: 3 }],
      );
      assert.deepEqual(close, { code: 1002, reason: "protocol mismatch" });
    }
    const { answer, close } = await scene().attempt({ minProtocol: 5, maxProtocol: 9, novelty: 1, role: "king" });
    assert.deepEqual(
      [answer?.error?.code, answer?.error?.message, facts(answer?.error?.details)],
      [
        "INVALID_REQUEST",
        "protocol mismatch",
        {
          code: "PROTOCOL_MISMATCH",
          expectedProtocol: 4,
          clientMinProtocol: 5,
          clientMaxProtocol: 9,
          minimumProbeProtocol: 3,
        },
      ],
    );
    assert.deepEqual(close, { code: 1002, reason: "protocol mismatch" });
  });

  for (const [minProtocol, maxProtocol, protocol] of [
    [1, 3, 3],
    [3, 4, 4],
    [4, 4, 4],
    [4, 9, 4],
  ])
    it(`4 the version: of ${minProtocol} to ${maxProtocol} it is ${protocol}`, async () => {
      const { answer } = await scene().attempt({ minProtocol, maxProtocol });
      assert.equal(answer?.payload?.["protocol"], protocol);
    });

  it("3 the schema, before the role [W13.3 W5.4]", async () => {
    const { answer } = await scene().attempt({ novelty: 1, role: "king" });
    assert.match(String(answer?.error?.message), /^invalid connect params: /);
  });

  it("5 the role, before the origin [W13.3 W4.10 W5.6]", async () => {
    const { answer, close } = await scene().attempt({ role: "king" }, evil);
    assert.deepEqual([answer?.error?.code, answer?.error?.message], ["INVALID_REQUEST", "invalid role"]);
    assert.deepEqual(close, { code: 1008, reason: "invalid role" });
  });

  it("6 the origin, before the credential and the device [W5.7 H7.3.4]", async () => {
    const { answer, close } = await scene().attempt({ client: panel, auth: { token: "wrong" } }, evil);
    assert.match(String(answer?.error?.message), /^origin not allowed/);
    assert.deepEqual(facts(answer?.error?.details), { code: "ORIGIN_NOT_ALLOWED" });
    assert.deepEqual([close?.code, close?.reason], [1008, answer?.error?.message]);
  });

  it("8 a device is needed, before a wrong credential is reported [W5.8]", async () => {
    const headers = { origin: "http://localhost:5173" };
    const { told } = await scene().attempt({ client: panel, auth: { token: "wrong" } }, headers);
    assert.equal(told, "CONTROL_UI_DEVICE_IDENTITY_REQUIRED");
  });

  it("9 the proof, before a wrong credential is reported [W5.9]", async () => {
    const socket = await scene().open();
    const proof = withProof(socket, { auth: { token: "wrong" } }, { sent: { nonce: "another" } });
    socket.send(connectFrame(undefined, proof));
    assert.equal((await outcomeOf(socket)).told, "DEVICE_AUTH_NONCE_MISMATCH");
  });

  it("10 the credential, before pairing [W5.10]", async () => {
    const socket = await scene().open();
    socket.send(connectFrame(undefined, withProof(socket, { role: "node", scopes: [], auth: { token: "wrong" } })));
    const { answer, close } = await outcomeOf(socket);
    assert.deepEqual(facts(answer?.error?.details), { code: "AUTH_TOKEN_MISMATCH", authReason: "token_mismatch" });
    assert.equal(close?.code, 1008);
  });

  it("11 pairing, last [W13.3 W5.11]", async () => {
    const socket = await scene().open();
    const proof = withProof(socket, { role: "node", scopes: [], auth: { token: String(scene().token) } });
    socket.send(connectFrame(undefined, proof));
    const { answer, close } = await outcomeOf(socket);
    assert.deepEqual([answer?.error?.code, answer?.error?.message], ["NOT_PAIRED", "pairing required"]);
    assert.deepEqual(close, { code: 1008, reason: "pairing required" });
  });

  it("close reasons are cut to 120 bytes, responses are not, and the response is sent first [W5.14]", async () => {
    const { answer, close } = await scene().attempt({ ["ü".repeat(200)]: 1 });
    const message = String(answer?.error?.message);
    assert.ok(message.includes("ü".repeat(200)));
    const bytes = Buffer.byteLength(String(close?.reason));
    assert.ok(bytes > 117 && bytes <= 120, `${bytes} bytes`);
    assert.ok(message.startsWith(String(close?.reason)));
  });
});

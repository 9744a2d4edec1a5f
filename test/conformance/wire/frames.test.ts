/** Spec: protocol/frames-and-connect.md §2. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { connectFrame } from "../../raw-socket.ts";
import { ask, BUG, shared } from "./scene.ts";

const limited = { timeout: 120_000 };

describe("request frames after connect", limited, () => {
  const scene = shared();
  const good = { type: "req", id: "f1", method: "wire.who" };
  const bad: [why: string, frame: unknown, id: string, says: RegExp][] = [
    ["an unknown property [W2.1]", { ...good, extra: 1 }, "f1", /unexpected property 'extra'/],
    [
      "two errors, both reported [W2.2]",
      { ...good, extra: 1, method: "" },
      "f1",
      /\/method.*;.*'extra'|'extra'.*;.*\/method/,
    ],
    ["another type [W2.3]", { ...good, type: "request" }, "f1", /\/type/],
    ["no type", { id: "f1", method: "wire.who" }, "f1", /type/],
    ["no id [W2.3]", { type: "req", method: "wire.who" }, "invalid", /id/],
    ["an empty id [W2.3]", { ...good, id: "" }, "invalid", /\/id/],
    ["a number as id, which is not converted to text [W2.2]", { ...good, id: 7 }, "invalid", /\/id/],
    ["no method [W2.3]", { type: "req", id: "f1" }, "f1", /method/],
    ["an empty method [W2.3]", { ...good, method: "" }, "f1", /\/method/],
    ["a response", { type: "res", id: "f1", ok: true }, "f1", /\/type/],
    ["an event", { type: "event", event: "tick" }, "invalid", /\/type/],
    ["a list", [good], "invalid", /must be object/],
    ["null [W2.7]", null, "invalid", /must be object/],
    ["a number", 1, "invalid", /must be object/],
  ];
  for (const [why, frame, id, says] of bad) {
    it(`is refused under its own id or "invalid", and the socket stays open: ${why} [W2.18]`, async () => {
      const socket = await scene().join();
      socket.send(JSON.stringify(frame));
      const { ok, error } = await socket.next((answer) => answer.id === id);
      assert.deepEqual([ok, error?.code], [false, "INVALID_REQUEST"]);
      assert.match(String(error?.message), /^invalid request frame: /);
      assert.match(String(error?.message), says);
      assert.equal((await ask(socket, "wire.who")).ok, true);
    });
  }

  it("text that is not JSON gets no response, and the socket stays open [W2.17]", async () => {
    const socket = await scene().join();
    for (const text of ["hello", "{", "", "{'a':1}"]) socket.send(text);
    assert.equal((await ask(socket, "wire.who")).ok, true);
    assert.equal(socket.frames.filter(({ type }) => type === "res").length, 2, "connect and this call");
  });

  it("a second connect is refused, and the socket stays open [W2.19]", async () => {
    const socket = await scene().join();
    socket.send(connectFrame(scene().token, {}, { id: "again" }));
    const { error } = await socket.next(({ id }) => id === "again");
    assert.equal(error?.code, "INVALID_REQUEST");
    assert.match(error.message, /only valid as the first request/);
    assert.equal((await ask(socket, "wire.who")).ok, true);
  });
});

describe("params", limited, () => {
  const scene = shared();

  const empty: [why: string, more: object][] = [
    ["absent [W2.7]", {}],
    ["null", { params: null }],
  ];
  for (const [why, more] of empty)
    it(`that are ${why} reach the handler as {} [W2.7]`, async () =>
      assert.deepEqual((await ask(await scene().join(), "wire.echo", more)).payload, {}));

  it("that are a list or a scalar fail with must be object [W2.8]", async () => {
    const socket = await scene().join();
    for (const params of [[], [1], 1, "text", true]) {
      const { error } = await ask(socket, "wire.echo", { params });
      const message = "invalid wire.echo params: at root: must be object";
      assert.deepEqual([error?.code, error?.message], ["INVALID_REQUEST", message], JSON.stringify(params));
    }
  });

  it("violations are joined by a semicolon: unknown keys with their path, others with the validator's message [W2.23]", async () => {
    const socket = await scene().join();
    const { error } = await ask(socket, "wire.echo", { params: { text: 1, more: 2, most: 3 } });
    const unknown = ["more", "most"].map((key) => `at root: unexpected property '${key}'`);
    assert.deepEqual(
      new Set(String(error?.message).replace("invalid wire.echo params: ", "").split("; ")),
      new Set(["at /text: must be string", ...unknown]),
    );
  });
});

describe("responses", limited, () => {
  const scene = shared();

  it("payload may be any JSON [W2.9]", async () => {
    const socket = await scene().join();
    for (const value of [[1, "two"], null, 0, "", false, "text", { a: null }]) {
      const { ok, payload } = await ask(socket, "wire.give", { params: { value } });
      assert.deepEqual([ok, payload as unknown], [true, value]);
    }
  });

  it("undefined keys are omitted, never null [W2.4 W2.16]", async () => {
    const socket = await scene().join();
    const answer = await ask(socket, "wire.give", { params: {} });
    assert.deepEqual(Object.keys(answer).toSorted(), ["id", "ok", "type"]);
    const refused = await ask(socket, "no.such");
    assert.deepEqual(Object.keys(refused).toSorted(), ["error", "id", "ok", "type"]);
    assert.deepEqual(Object.keys(refused.error ?? {}).toSorted(), ["code", "details", "message"]);
  });

  it("events caused by a request are written before its response [W2.15]", async () => {
    const socket = await scene().join();
    const { id } = await ask(socket, "wire.tell");
    const order = socket.frames.flatMap(({ event, id: of }) =>
      event === "wire.told" ? "event" : of === id ? "res" : [],
    );
    assert.deepEqual(order, ["event", "event", "res"]);
  });

  it("a handler that throws is INTERNAL with a correlation id, and leaks nothing of the error [W2.22]", async () => {
    const socket = await scene().join();
    const { error } = await ask(socket, "wire.fail");
    assert.equal(error?.code, "INTERNAL");
    assert.match(error.message, /^internal error \([\da-f]{12}\)$/);
    assert.ok(!JSON.stringify(socket.frames).includes(BUG));
    assert.equal((await ask(socket, "wire.who")).ok, true);
  });
});

describe("unknown methods", limited, () => {
  const scene = shared();
  const callers: [who: string, scopes: string[]][] = [
    ["with admin [W2.20]", ["operator.admin"]],
    ["without admin [W2.21]", ["operator.read"]],
    ["without any scope [W2.21]", []],
  ];
  for (const [who, scopes] of callers)
    it(`are reported as such to a caller ${who} [W2.20]`, async () => {
      const { error } = await ask(await scene().join({ scopes }), "no.such");
      assert.deepEqual([error?.code, error?.message], ["INVALID_REQUEST", "unknown method: no.such"]);
    });

  it("that exist but need a scope are refused for the scope, with the message that clients match", async () => {
    const socket = await scene().join({ scopes: ["operator.read"] });
    const { error } = await ask(socket, "wire.admin");
    assert.deepEqual(
      [error?.code, error?.message, error?.details?.["code"]],
      ["INVALID_REQUEST", "missing scope: operator.admin", "MISSING_SCOPE"],
    );
  });
});

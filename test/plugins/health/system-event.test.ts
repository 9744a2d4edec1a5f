import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseBeacon, readReport, whatChanged } from "../../../plugins/health/system-event.ts";

describe("a report of a client", () => {
  const whole = "Node: desk (10.0.0.7) · app 2.1 · last input 12s ago · mode ui · reason launch";
  const desk = { host: "desk", ip: "10.0.0.7", version: "2.1", mode: "ui", reason: "launch" };
  const beacons: [text: string, fields: object][] = [
    [whole, { ...desk, lastInputSeconds: 12 }],
    ["Node: desk", { host: "desk" }],
    ["Node: (10.0.0.7) · mode ui", { ip: "10.0.0.7", mode: "ui" }],
    ["Node: desk · last input soon · apple 3", { host: "desk" }],
    ["Node:", {}],
  ];
  for (const [text, fields] of beacons) it(text, () => assert.deepEqual(parseBeacon(text), fields));

  const keys: [what: string, text: string, params: object, key: string][] = [
    ["its device", whole, { deviceId: "d", instanceId: "i" }, "d"],
    ["its instance", whole, { instanceId: "i", host: "h" }, "i"],
    ["its host", whole, {}, "desk"],
    ["its address", "door", { ip: "1.2.3.4" }, "1.2.3.4"],
    ["its text", "x".repeat(99), {}, "x".repeat(64)],
  ];
  for (const [what, text, params, key] of keys)
    it(`has its key from ${what}`, () => assert.equal(readReport(text, params).key, key));

  it("prefers parameters to the text, and ignores those of another type", () => {
    const params = { host: "shed", ip: 7, mode: "", lastInputSeconds: "3", roles: ["a", 1], scopes: "x", tags: ["t"] };
    assert.deepEqual(readReport(whole, params).fields, {
      ...desk,
      host: "shed",
      lastInputSeconds: 12,
      roles: ["a"],
      text: whole,
    });
  });

  const news: [what: string, known: object | undefined, fields: object, line: string | undefined][] = [
    ["nothing", desk, desk, undefined],
    ["all of it at first", undefined, desk, "Node: desk (10.0.0.7) · app 2.1 · mode ui · reason launch"],
    ["a version", desk, { ...desk, version: "3" }, "Node: desk (10.0.0.7) · app 3"],
    ["an address", desk, { ...desk, ip: "10.0.0.8" }, "Node: desk (10.0.0.8)"],
    ["a reason", desk, { ...desk, reason: "wake" }, "Node: desk (10.0.0.7) · reason wake"],
    ["no periodic one", desk, { ...desk, reason: "periodic-3" }, undefined],
    ["no heartbeat", desk, { ...desk, reason: "heartbeat" }, undefined],
  ];
  for (const [what, known, fields, line] of news)
    it(`reports ${what}`, () => assert.equal(whatChanged(known, fields), line));
});

/** `svc gateways list|doctor`: what people read. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gatewayFindings, listLines } from "../../../plugins/health/gateways-report.ts";

const NOW = Date.UTC(2026, 0, 1);
const LOAD = {
  version: "1.0.0",
  startedAtMs: NOW,
  isStopping: false,
  clients: 2,
  busy: ["agents"],
  cpu: 0.257,
  rssBytes: 104_857_600,
  aheadMs: 3_000,
  leaseLosses: 0,
  configHash: "one",
};
const OWNED = ["channels/telegram/default", "nodes/a", "nodes/b", "nodes/c", "nodes/d"];
const row = (name: string, more: object = {}, load: object = {}) => ({
  id: `${name}-0000-0000`,
  name,
  isThis: false,
  joinedAtMs: NOW,
  leaseMs: 8_000,
  owned: [] as string[],
  load: { ...LOAD, ...load },
  ...more,
});

describe("the list of gateways", () => {
  it("has a line for each, with its state, load and what it owns", () => {
    const gateways = [
      row("one", { isThis: true, owned: OWNED }),
      row("two", {}, { isStopping: true, busy: [] }),
      row("three", { load: undefined }),
      row("four", { load: undefined, leaseMs: -12_000 }),
    ];
    assert.deepEqual(
      listLines({ gateways }).map((line) => line.replace(/ +/g, " ").trim()),
      [
        "one one-0000 (this one) up 1.0.0 2 clients 0.26 CPU, 100 MB busy: agents owns channels/telegram/default, nodes/a, nodes/b, nodes/c and 1 more",
        "two two-0000 stopping 1.0.0 2 clients 0.26 CPU, 100 MB",
        "three three-00 does not answer",
        "four four-000 ended without stopping 12 s ago",
      ],
    );
  });
});

describe("the findings about gateways", () => {
  const about = (...gateways: ReturnType<typeof row>[]) =>
    gatewayFindings({ gateways }, NOW).map(({ severity, about: whom, message }) => `${severity} ${whom}: ${message}`);

  it("are none where all is well, also with one gateway alone", () => {
    assert.deepEqual(about(row("one"), row("two", {}, { aheadMs: -5_400 })), []);
    assert.deepEqual(about(row("alone", { id: "", leaseMs: undefined })), []);
  });

  it("are clocks that differ, leases that were lost, and gateways that do not answer", () => {
    const lastLoss = { atMs: NOW - 60_000, reason: "the database did not answer in time" };
    const found = about(
      row("slow", {}, { aheadMs: 61_000 }),
      row("fast", {}, { aheadMs: -7_000 }),
      row("lost", {}, { leaseLosses: 2, lastLoss }),
      row("once", {}, { leaseLosses: 2, lastLoss: { ...lastLoss, atMs: NOW - 7_200_000 } }),
      row("mute", { load: undefined }),
      row("gone", { load: undefined, leaseMs: -1_000 }),
    );
    assert.deepEqual(
      found.map((line) => line.replace(/at \d.*?: /, "at <time>: ")),
      [
        "warning gateway slow slow-000: its clock is 61 s behind that of the database",
        "warning gateway fast fast-000: its clock is 7 s ahead of that of the database",
        "warning gateway lost lost-000: it lost its lease 2 times since its start, the last time at <time>: the database did not answer in time",
        "warning gateway mute mute-000: it has a lease but does not answer the others",
        "info gateway gone gone-000: ended without stopping 1 s ago",
      ],
    );
  });

  it("are different configurations and versions", () => {
    assert.deepEqual(about(row("one"), row("two", {}, { configHash: "two", version: "2.0.0" })), [
      "warning gateway one one-0000: it and others have different configurations",
      "info gateway one one-0000: it and others have different versions",
    ]);
  });
});

/** One heartbeat from the decision to its report; the test simulates everything else. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { GATEWAY_WORDS, GatewayError } from "@svc/sdk";
import type { RunOutcome, RunRequest, RunState } from "@svc/sdk/agents";
import type { DeliveryOutcome, DeliveryRequest } from "@svc/sdk/channels";
import type { HeartbeatReport, HeartbeatSettings, SystemEvent } from "@svc/sdk/heartbeat";
import { createFakeClock } from "@svc/sdk/testing";
import type { Beat } from "../../../plugins/heartbeat/beat-store.ts";
import { Beats } from "../../../plugins/heartbeat/beats.ts";
import type { Wake } from "../../../plugins/heartbeat/waking.ts";
import { onlyOwner } from "../only-owner.ts";
import { event, KEY, SETTINGS } from "./events.ts";

const wake: Wake = { agentId: "main", sessionKey: KEY, reason: "interval", isForEvents: false };

function open(settings: Partial<HeartbeatSettings> = {}) {
  const clock = createFakeClock();
  const scene = {
    settings: { ...SETTINGS, ...settings } as HeartbeatSettings | undefined,
    isOn: true,
    active: [] as RunState[],
    isLaneBusy: false,
    waiting: [] as SystemEvent[],
    file: undefined as string | undefined,
    entry: {} as Record<string, unknown>,
    refusal: undefined as Error | undefined,
    states: new Map<string, RunState["status"]>(),
    outcomes: new Map<string, RunOutcome>(),
    started: [] as RunRequest[],
    restarted: [] as string[],
    reports: [] as HeartbeatReport[],
    sent: [] as DeliveryRequest[],
    answers: [] as (DeliveryOutcome | Error)[],
    kept: new Map<string, Beat>(),
    visibility: { showOk: false, showAlerts: true, useIndicator: true },
  };
  const beats = new Beats({
    beats: {
      began: async (beat) => void scene.kept.set(beat.runId, beat),
      settled: async (runId) => void scene.kept.delete(runId),
      takeOver: async () => [...scene.kept.values()],
    },
    events: { waiting: async () => scene.waiting },
    runs: {
      active: () => scene.active,
      isBusy: () => scene.isLaneBusy,
      state: async (runId) => {
        const status = scene.states.get(runId);
        return status && { runId, sessionKey: KEY, source: "heartbeat", status };
      },
      wait: async (runId) => scene.outcomes.get(runId),
      async start(request) {
        if (scene.refusal) throw scene.refusal;
        scene.started.push(request);
        const { runId, sessionKey, source } = request;
        return { fresh: true, state: { runId, sessionKey, source, status: "accepted" }, acceptedAt: 0 };
      },
    },
    agents: {
      timeZone: "UTC",
      heartbeat: () => scene.settings,
      list: () => [{ id: "main", isDefault: true, workspace: "/w" }],
    },
    sessions: {
      get: async () => ({ sessionId: "s", updatedAt: 0, ...scene.entry }),
      update: async (_key, patch) => ({ sessionId: "s", updatedAt: 0, ...Object.assign(scene.entry, patch) }),
    },
    delivery: {
      get: () => ({
        channels: () => ["pigeon"],
        configured: () => [],
        takesVoice: () => false,
        channelId: (name) => name,
        sessionOf: async () => "agent:main:main",
        heartbeats: () => scene.visibility,
        async deliver(request) {
          scene.sent.push(request);
          const answer = scene.answers.shift() ?? { delivered: true, channel: "pigeon", to: "ann" };
          if (answer instanceof Error) throw answer;
          return answer;
        },
      }),
    },
    readFile: async () => scene.file,
    isOn: () => scene.isOn,
    restart: (agentId) => void scene.restarted.push(agentId),
    publish: (report) => void scene.reports.push(report),
    clock,
    log: { warn: () => undefined, debug: () => undefined },
    newRunId: () => `b${scene.started.length + 1}`,
  });
  void beats.recover(onlyOwner()); // with nothing to take over
  /** Ends the last turn and waits until its outcome is reported. */
  const ends = async (outcome: Partial<RunOutcome>) => {
    const request = scene.started.at(-1) ?? assert.fail("no turn");
    const { runId, sessionKey } = request;
    beats.finished({ runId, sessionKey, status: "ok", startedAt: 1, endedAt: 3, text: "", ...outcome });
    for (let round = 0; round < 20; round++) await turn();
  };
  const told = () => scene.reports.map(({ status, reason }) => [status, reason]);
  return { beats, scene, clock, ends, told };
}

describe("a heartbeat", () => {
  it("runs a turn in its session with the settings of its agent", async () => {
    const { beats, scene } = open({ model: "fast", prompt: "Look.", lightContext: true, ackMaxChars: 7 });
    scene.file = "- plants\n";
    assert.equal(await beats.beat(wake), "started");
    const [request] = scene.started;
    assert.ok(request);
    const { message, principal, ...rest } = request;
    assert.match(message, /^Look\.\n\nCurrent time: \w+day, \d{4}-\d\d-\d\d, \d\d:\d\d \(.+\)$/);
    assert.deepEqual([principal.id, principal.scopes], ["plugin:heartbeat", ["operator.read", "operator.write"]]);
    assert.deepEqual(rest, {
      runId: "b1",
      sessionKey: KEY,
      source: "heartbeat",
      origin: GATEWAY_WORDS,
      model: "fast",
      lightContext: true,
      acknowledgement: { maxChars: 7 },
      extraSystemPrompt: "# HEARTBEAT.md of your workspace\n\n- plants",
    });
    assert.deepEqual(scene.restarted, ["main"]);
  });

  type Scene = ReturnType<typeof open>["scene"];
  const skips: [what: string, reason: string, restarts: boolean, spoil: (scene: Scene) => unknown][] = [
    ["switched off", "disabled", false, (scene) => (scene.isOn = false)],
    ["not of this agent", "disabled", false, (scene) => (scene.settings = undefined)],
    [
      "outside its hours",
      "quiet-hours",
      true,
      (scene) => (scene.settings = { ...SETTINGS, activeHours: { start: "08:00", end: "08:00", timezone: "UTC" } }),
    ],
    ["an empty file", "empty-heartbeat-file", true, (scene) => (scene.file = "# Things\n")],
    [
      "nobody to see it",
      "alerts-disabled",
      true,
      (scene) => (scene.visibility = { showOk: false, showAlerts: false, useIndicator: false }),
    ],
  ];
  for (const [what, reason, restarts, spoil] of skips)
    it(`is skipped: ${what}`, async () => {
      const { beats, scene, told } = open();
      spoil(scene);
      assert.equal(await beats.beat(wake), "skipped");
      assert.deepEqual(told(), [["skipped", reason]]);
      assert.deepEqual([scene.started.length, scene.restarted.length], [0, restarts ? 1 : 0]);
    });

  it("is postponed while other runs are active, and reports that once", async () => {
    const { beats, scene, clock, told } = open();
    scene.isLaneBusy = true;
    assert.equal(await beats.beat(wake), "busy");
    const since = clock.elapsed();
    await clock.advance(119_000);
    assert.equal(await beats.beat({ ...wake, busySince: since }), "busy");
    await clock.advance(1_000);
    assert.equal(await beats.beat({ ...wake, busySince: since }), "started");
    assert.deepEqual(told(), [["skipped", "requests-in-flight"]]);
  });

  it("runs for waiting events, whatever the file contains", async () => {
    const { beats, scene } = open();
    scene.file = "";
    scene.waiting = [event("a", { reason: "cron:j" })];
    assert.equal(await beats.beat(wake), "started");
    assert.match(scene.started[0]?.message ?? "", /reminder/);
  });

  it("sends an alert, and remembers it for a day", async () => {
    const { beats, scene, ends } = open({ target: "pigeon", to: "ann", accountId: "a", directPolicy: "block" });
    await beats.beat(wake);
    await ends({ text: "The plants are dry." });
    const request = { channel: "pigeon", to: "ann", accountId: "a", sessionKey: KEY, text: "The plants are dry." };
    const rest = { id: "heartbeat:b1:alert", keepsThread: false, allowsDirect: false };
    assert.deepEqual(scene.sent, [{ ...request, ...rest }]);
    const [report] = scene.reports;
    assert.deepEqual([report?.status, report?.to, report?.durationMs], ["sent", "ann", 2]);
    assert.equal(scene.entry["lastHeartbeatText"], "The plants are dry.");
    assert.equal(scene.kept.size, 0);
    await beats.beat(wake);
    assert.equal(scene.started[1]?.acknowledgement?.repeats, "The plants are dry.");
  });

  it("sends the reasoning before the alert if configured", async () => {
    const { beats, scene, ends } = open({ includeReasoning: true });
    await beats.beat(wake);
    const message = { role: "assistant", content: [{ type: "thinking", thinking: " dry? " }], timestamp: 0 } as never; // all that is read
    await ends({ text: "Dry.", message });
    assert.deepEqual(
      scene.sent.map(({ text }) => text),
      ["Reasoning:\ndry?", "Dry."],
    );
  });

  it("sends an OK message only if configured", async () => {
    const { beats, scene, ends } = open();
    await beats.beat(wake);
    await ends({ text: "HEARTBEAT_OK", takenBack: "token" });
    assert.equal(scene.sent.length, 0);
    scene.visibility = { ...scene.visibility, showOk: true };
    await beats.beat(wake);
    await ends({ text: "HEARTBEAT_OK", takenBack: "token" });
    assert.deepEqual(
      scene.sent.map(({ text }) => text),
      ["HEARTBEAT_OK"],
    );
    assert.deepEqual(
      scene.reports.map(({ status, silent, to }) => [status, silent, to]),
      [
        ["ok-token", true, undefined],
        ["ok-token", false, "ann"],
      ],
    );
  });

  it("retries a report that failed", async () => {
    const { beats, scene, ends, told } = open();
    await beats.beat(wake);
    scene.answers.push(new GatewayError("UNAVAILABLE", "not yet"));
    const outcome: RunOutcome = { runId: "b1", sessionKey: KEY, status: "ok", endedAt: 3, text: "Dry." };
    await ends(outcome);
    assert.deepEqual([told(), scene.kept.size], [[], 1]);
    scene.states.set("b1", "ok");
    scene.outcomes.set("b1", outcome);
    await beats.catchUp();
    assert.deepEqual(told(), [["sent", undefined]]);
    assert.deepEqual(new Set(scene.sent.map(({ id }) => id)), new Set(["heartbeat:b1:alert"]));
    assert.equal(scene.kept.size, 0);
  });

  it("reports outcomes of a former process after a restart, and drops turns that never started", async () => {
    const { beats, scene, told } = open();
    for (const runId of ["old", "never", "runs"])
      scene.kept.set(runId, { runId, agentId: "main", sessionKey: KEY, reason: "interval" });
    scene.states.set("old", "ok").set("runs", "running");
    scene.outcomes.set("old", { runId: "old", sessionKey: KEY, status: "ok", endedAt: 3, text: "Dry." });
    await beats.recover(onlyOwner());
    await beats.catchUp();
    assert.deepEqual(told(), [["sent", undefined]]);
    assert.deepEqual([...scene.kept.keys()], ["runs"]);
  });

  it("that is refused fails, but its events are kept", async () => {
    const { beats, scene, told } = open();
    scene.refusal = new GatewayError("UNAVAILABLE", "denied");
    assert.equal(await beats.beat(wake), "skipped");
    assert.deepEqual(told(), [["failed", "denied"]]);
    await assert.rejects(beats.beat({ ...wake, isForEvents: true }), { message: "denied" });
    assert.equal(scene.kept.size, 0);
  });
});

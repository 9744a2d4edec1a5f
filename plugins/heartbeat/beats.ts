/** Heartbeats from the decision to what came of them: the turn is asked for, its end is told to people and clients. */
import { type Clock, GATEWAY_WORDS, isGatewayError, type Live, type Logger, type Principal } from "@svc/sdk";
import type { AgentDirectory, AgentRuns, RunOutcome, RunRequest } from "@svc/sdk/agents";
import type { Delivery, DeliveryOutcome } from "@svc/sdk/channels";
import type { HeartbeatReport, HeartbeatSettings, HeartbeatVisibility, SystemEvent } from "@svc/sdk/heartbeat";
import type { Sessions } from "@svc/sdk/sessions";
import { isWithin } from "./active-hours.ts";
import type { Beat, BeatStore } from "./beat-store.ts";
import { gateOf, saysNothing, worthless } from "./decision.ts";
import type { EventStore } from "./event-store.ts";
import { everyMsOf } from "./interval.ts";
import { fileSection, messageOf } from "./prompts.ts";
import { placeOf, reasoningOf, recentAlert, type Report, reportOfAlert, resultOf } from "./report.ts";
import { MAX_EVENTS } from "./prompt-section.ts";
import { isAboutSomething } from "./wake-reasons.ts";
import type { Wake } from "./waking.ts";

/**
 * Whom the turns act for. Choice: as sub-agents they may at most read and write; nobody asked for them, and their reason
 * may have come from outside.
 */
const PRINCIPAL: Principal = {
  id: "plugin:heartbeat",
  role: "operator",
  scopes: ["operator.read", "operator.write"],
  provenance: "plugin",
  epoch: 0,
};
/** Where people are reached through no plugin. Spec: http/sessions-routing.md §7.3. */
const BUILT_IN: HeartbeatVisibility = { showOk: false, showAlerts: true, useIndicator: true };
/** What people are sent where they want to hear that all is well. */
const OK_TEXT = "HEARTBEAT_OK";

interface BeatSources {
  readonly beats: Pick<BeatStore, "began" | "settled" | "unsettled">;
  readonly events: Pick<EventStore, "waiting">;
  readonly runs: Pick<AgentRuns, "start" | "active" | "isBusy" | "state" | "wait">;
  readonly agents: Pick<AgentDirectory, "heartbeat" | "list" | "timeZone">;
  readonly sessions: Pick<Sessions, "get" | "update">;
  readonly delivery: Live<Delivery>;
  /** HEARTBEAT.md of a workspace; `undefined`: there is none. */
  readonly readFile: (workspace: string) => Promise<string | undefined>;
  readonly isOn: () => boolean;
  /** The agent's interval begins anew. */
  readonly restart: (agentId: string) => void;
  readonly publish: (report: HeartbeatReport) => void;
  readonly clock: Pick<Clock, "now" | "elapsed">;
  readonly log: Pick<Logger, "warn" | "debug">;
  readonly newRunId: () => string;
}

export class Beats {
  readonly #sources: BeatSources;
  /** Turns whose outcome is not dealt with, by run. */
  readonly #open = new Map<string, Beat>();
  /** Those of them that are being asked for. */
  readonly #starting = new Set<string>();
  /** Ends that are being told. */
  readonly #settling = new Map<string, Promise<void>>();
  #isStopped = false;

  constructor(sources: BeatSources) {
    this.#sources = sources;
  }

  /** Reads what a former process or generation has left. */
  async recover(): Promise<void> {
    for (const beat of await this.#sources.beats.unsettled()) this.#open.set(beat.runId, beat);
  }

  /** Deals with turns that ended and were not dealt with. To be called once channels can be used, and now and then. */
  async catchUp(): Promise<void> {
    const { runs, beats } = this.#sources;
    for (const [runId, beat] of this.#open) {
      if (this.#starting.has(runId)) continue;
      const status = (await runs.state(runId))?.status;
      if (status === "accepted" || status === "running") continue;
      const outcome = status === undefined ? undefined : await runs.wait(runId, 0);
      if (outcome) await this.#settle(beat, outcome);
      else if (status === undefined && this.#open.delete(runId)) await beats.settled(runId); // it was never accepted
    }
  }

  /** Takes no more ends; those that are being told are waited for. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.allSettled(this.#settling.values());
  }

  /** Decides, and starts the turn. Spec: http/sessions-routing.md §7.2. */
  async beat(wake: Wake): Promise<"started" | "skipped" | "busy"> {
    const { agents, restart } = this.#sources;
    const settings = agents.heartbeat(wake.agentId);
    const gate = this.#gate(wake, settings);
    if (gate === "requests-in-flight") {
      if (wake.busySince === undefined) this.#tell({ status: "skipped", reason: gate });
      return "busy";
    }
    if (gate !== "open" || !settings) {
      this.#tell({ status: "skipped", reason: gate });
      if (gate !== "disabled") restart(wake.agentId);
      return "skipped";
    }
    const started = await this.#start(wake, settings);
    restart(wake.agentId);
    return started;
  }

  /** To be called at the end of every run. */
  finished(outcome: RunOutcome): void {
    const beat = this.#open.get(outcome.runId);
    if (beat && !this.#isStopped) void this.#settle(beat, outcome);
  }

  #gate({ sessionKey, busySince }: Wake, settings: HeartbeatSettings | undefined) {
    const { agents, runs, isOn, clock } = this.#sources;
    return gateOf({
      isOn: isOn(),
      everyMs: settings ? everyMsOf(settings.every) : null,
      isWithinHours: isWithin(settings?.activeHours, clock.now(), agents.timeZone),
      isSessionBusy: runs.active(sessionKey).length > 0,
      isLaneBusy: runs.isBusy("main"),
      waitedMs: busySince === undefined ? 0 : clock.elapsed() - busySince,
    });
  }

  async #start(wake: Wake, settings: HeartbeatSettings): Promise<"started" | "skipped"> {
    const { events, beats, runs, newRunId } = this.#sources;
    const { agentId, sessionKey, reason } = wake;
    const waiting = await events.waiting(sessionKey, MAX_EVENTS);
    const file = await this.#file(agentId);
    const isAbout = waiting.length > 0 || isAboutSomething(reason);
    const skip = worthless({ file, isAboutSomething: isAbout, visibility: this.#visibility });
    if (skip !== undefined) {
      this.#tell({ status: "skipped", reason: skip });
      return "skipped";
    }
    const beat = { runId: newRunId(), agentId, sessionKey, reason };
    const request = await this.#request(beat, settings, waiting, file);
    await beats.began(beat);
    this.#open.set(beat.runId, beat);
    this.#starting.add(beat.runId);
    try {
      await runs.start(request);
      return "started";
    } catch (error) {
      this.#open.delete(beat.runId);
      await beats.settled(beat.runId);
      if (wake.isForEvents || !isGatewayError(error)) throw error; // events are not given up
      this.#tell({ status: "failed", reason: error.message });
      return "skipped";
    } finally {
      this.#starting.delete(beat.runId);
    }
  }

  async #request(
    { runId, sessionKey }: Beat,
    settings: HeartbeatSettings,
    waiting: readonly SystemEvent[],
    file: string | undefined,
  ): Promise<RunRequest> {
    const { agents, sessions, clock } = this.#sources;
    const now = clock.now();
    const repeats = recentAlert(await sessions.get(sessionKey), now);
    return {
      runId,
      sessionKey,
      message: messageOf(settings, waiting, now, agents.timeZone),
      source: "heartbeat",
      origin: GATEWAY_WORDS, // whose words the events are, the prompt says
      principal: PRINCIPAL,
      acknowledgement: { maxChars: settings.ackMaxChars, ...(repeats === undefined ? {} : { repeats }) },
      ...(settings.model === undefined ? {} : { model: settings.model }),
      ...(settings.lightContext ? { lightContext: true } : {}),
      ...(file === undefined || saysNothing(file) ? {} : { extraSystemPrompt: fileSection(file) }),
    };
  }

  /** Choice: a file that may not be read counts as none; the agent is woken rather than left alone. */
  async #file(agentId: string): Promise<string | undefined> {
    const { agents, readFile, log } = this.#sources;
    const workspace = agents.list().find(({ id }) => id === agentId)?.workspace;
    if (workspace === undefined) return undefined;
    try {
      return await readFile(workspace);
    } catch (error) {
      log.warn({ err: error, agentId }, "HEARTBEAT.md of an agent cannot be read");
      return undefined;
    }
  }

  #settle(beat: Beat, outcome: RunOutcome): Promise<void> {
    const { runId } = beat;
    const known = this.#settling.get(runId);
    if (known) return known;
    const settling = this.#conclude(beat, outcome).finally(() => this.#settling.delete(runId));
    this.#settling.set(runId, settling);
    return settling;
  }

  /** Never rejects: what cannot be done now is done at a later `catchUp`. */
  async #conclude(beat: Beat, outcome: RunOutcome): Promise<void> {
    const { agents, beats, log } = this.#sources;
    try {
      const settings = agents.heartbeat(beat.agentId);
      const result = settings && resultOf(outcome, settings, this.#visibility);
      const report = result && (await this.#told(beat, outcome, settings, result));
      await beats.settled(beat.runId);
      this.#open.delete(beat.runId);
      this.#tell(report ?? { status: "skipped", reason: "disabled" });
    } catch (error) {
      log.warn({ err: error, runId: beat.runId }, "what a heartbeat came to could not be told yet; it is tried again");
    }
  }

  async #told(
    beat: Beat,
    outcome: RunOutcome,
    settings: HeartbeatSettings,
    result: ReturnType<typeof resultOf>,
  ): Promise<Report> {
    if ("report" in result) return result.report;
    if ("ok" in result) {
      if (!this.#visibility.showOk || settings.target === "none") return result.ok;
      const delivered = await this.#deliver(beat, settings, OK_TEXT, "ok");
      return { ...result.ok, ...placeOf(delivered), silent: !delivered.delivered };
    }
    const reasoning = settings.includeReasoning ? reasoningOf(outcome) : undefined;
    if (reasoning !== undefined) await this.#deliver(beat, settings, reasoning, "reasoning");
    const delivered = await this.#deliver(beat, settings, result.alert, "alert");
    if (delivered.delivered) await this.#remember(beat.sessionKey, result.alert);
    return reportOfAlert(outcome, result.alert, delivered, this.#visibility);
  }

  /** Never rejects: the worst is that an alert is sent again. */
  async #remember(sessionKey: string, lastHeartbeatText: string): Promise<void> {
    const { sessions, clock, log } = this.#sources;
    const sent = { lastHeartbeatText, lastHeartbeatSentAt: clock.now() };
    await sessions.update(sessionKey, sent).catch((error: unknown) => {
      log.warn({ err: error, sessionKey }, "a session could not be told which alert was sent");
    });
  }

  /** The same text is not sent twice, however often this is called. */
  async #deliver(
    { runId, sessionKey }: Beat,
    { target, to, accountId, directPolicy }: HeartbeatSettings,
    text: string,
    kind: string,
  ): Promise<DeliveryOutcome> {
    const delivery = this.#sources.delivery.get();
    if (!delivery) return { delivered: false, reason: "no plugin of this gateway reaches people in channels" };
    return delivery.deliver({
      id: `heartbeat:${runId}:${kind}`,
      channel: target,
      sessionKey,
      text,
      keepsThread: false,
      allowsDirect: directPolicy !== "block",
      ...(to === undefined ? {} : { to }),
      ...(accountId === undefined ? {} : { accountId }),
    });
  }

  get #visibility(): HeartbeatVisibility {
    return this.#sources.delivery.get()?.heartbeats() ?? BUILT_IN;
  }

  #tell(report: Report): void {
    this.#sources.publish({ ts: this.#sources.clock.now(), ...report });
  }
}

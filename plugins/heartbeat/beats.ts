/** Runs heartbeats: decides, starts the turn, and reports its outcome to people and clients. */
import {
  type Clock,
  GATEWAY_WORDS,
  isGatewayError,
  type Live,
  type Logger,
  type Principal,
  unavailable,
} from "@svc/sdk";
import type { AgentDirectory, AgentRuns, RunOutcome, RunRequest } from "@svc/sdk/agents";
import type { Delivery, DeliveryOutcome } from "@svc/sdk/channels";
import type { HeartbeatReport, HeartbeatSettings, HeartbeatVisibility, SystemEvent } from "@svc/sdk/heartbeat";
import type { Sessions } from "@svc/sdk/sessions";
import type { Owner } from "@svc/sdk/storage";
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
 * Principal of the turns. Choice: like sub-agents they may only read and write, since no person requested them and their
 * cause may be external.
 */
const PRINCIPAL: Principal = {
  id: "plugin:heartbeat",
  role: "operator",
  scopes: ["operator.read", "operator.write"],
  provenance: "plugin",
  epoch: 0,
};
/** Visibility without a plugin that delivers. Spec: http/sessions-routing.md §7.3. */
const BUILT_IN: HeartbeatVisibility = { showOk: false, showAlerts: true, useIndicator: true };
/** Message sent if `showOk` is on and there is nothing to report. */
const OK_TEXT = "HEARTBEAT_OK";

interface BeatSources {
  readonly beats: Pick<BeatStore, "began" | "settled" | "takeOver">;
  readonly events: Pick<EventStore, "waiting">;
  readonly runs: Pick<AgentRuns, "start" | "active" | "isBusy" | "state" | "wait">;
  readonly agents: Pick<AgentDirectory, "heartbeat" | "list" | "timeZone">;
  readonly sessions: Pick<Sessions, "get" | "update">;
  readonly delivery: Live<Delivery>;
  /** Reads HEARTBEAT.md of a workspace; `undefined`: it does not exist. */
  readonly readFile: (workspace: string) => Promise<string | undefined>;
  readonly isOn: () => boolean;
  /** Restarts the agent's interval. */
  readonly restart: (agentId: string) => void;
  readonly publish: (report: HeartbeatReport) => void;
  readonly clock: Pick<Clock, "now" | "elapsed">;
  readonly log: Pick<Logger, "warn" | "debug">;
  readonly newRunId: () => string;
}

export class Beats {
  readonly #sources: BeatSources;
  /** Turns whose outcome has not been handled, by run. */
  readonly #open = new Map<string, Beat>();
  /** Run ids of turns that are being started. */
  readonly #starting = new Set<string>();
  /** Outcomes that are being handled, by run. */
  readonly #settling = new Map<string, Promise<void>>();
  #owner: Owner | undefined;
  #isStopped = false;

  constructor(sources: BeatSources) {
    this.#sources = sources;
  }

  /** Takes over unhandled turns of gateways and generations that have ended. @param owner of the turns from now on */
  async recover(owner: Owner): Promise<void> {
    this.#owner = owner;
    for (const beat of await this.#sources.beats.takeOver(owner)) this.#open.set(beat.runId, beat);
  }

  async #settled(runId: string): Promise<void> {
    if (this.#owner) await this.#sources.beats.settled(runId, this.#owner);
  }

  /** Handles ended turns that have not been handled. To be called once channels can be used, and regularly. */
  async catchUp(): Promise<void> {
    const { runs } = this.#sources;
    for (const [runId, beat] of this.#open) {
      if (this.#starting.has(runId)) continue;
      const status = (await runs.state(runId))?.status;
      if (status === "accepted" || status === "running") continue;
      const outcome = status === undefined ? undefined : await runs.wait(runId, 0);
      if (outcome) await this.#settle(beat, outcome);
      else if (status === undefined && this.#open.delete(runId)) await this.#settled(runId); // it was never accepted
    }
  }

  /** Accepts no more outcomes; waits for those being handled. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.allSettled(this.#settling.values());
  }

  /** Decides whether the heartbeat runs, and starts its turn. Spec: http/sessions-routing.md §7.2. */
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
    const owner = this.#owner ?? unavailable("the plugin heartbeat is starting", { retryAfterMs: 500 });
    await beats.began(beat, owner);
    this.#open.set(beat.runId, beat);
    this.#starting.add(beat.runId);
    try {
      await runs.start(request);
      return "started";
    } catch (error) {
      this.#open.delete(beat.runId);
      await this.#settled(beat.runId);
      if (wake.isForEvents || !isGatewayError(error)) throw error; // wakes for events are retried
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
      origin: GATEWAY_WORDS, // the origins of the events come with the prompt
      principal: PRINCIPAL,
      acknowledgement: { maxChars: settings.ackMaxChars, ...(repeats === undefined ? {} : { repeats }) },
      ...(settings.model === undefined ? {} : { model: settings.model }),
      ...(settings.lightContext ? { lightContext: true } : {}),
      ...(file === undefined || saysNothing(file) ? {} : { extraSystemPrompt: fileSection(file) }),
    };
  }

  /** Choice: an unreadable file counts as missing, so that the heartbeat is not skipped. */
  async #file(agentId: string): Promise<string | undefined> {
    const { agents, readFile, log } = this.#sources;
    const workspace = agents.list().find(({ id }) => id === agentId)?.workspace;
    if (workspace === undefined) return undefined;
    try {
      return await readFile(workspace);
    } catch (error) {
      log.warn({ err: error, agentId }, "HEARTBEAT.md of an agent could not be read; the heartbeat runs without it");
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

  /** Never rejects: a later `catchUp` retries after a failure. */
  async #conclude(beat: Beat, outcome: RunOutcome): Promise<void> {
    const { agents, log } = this.#sources;
    try {
      const settings = agents.heartbeat(beat.agentId);
      const result = settings && resultOf(outcome, settings, this.#visibility);
      const report = result && (await this.#told(beat, outcome, settings, result));
      await this.#settled(beat.runId);
      this.#open.delete(beat.runId);
      this.#tell(report ?? { status: "skipped", reason: "disabled" });
    } catch (error) {
      log.warn(
        { err: error, runId: beat.runId },
        "the outcome of a heartbeat could not be reported; retrying within a minute",
      );
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

  /** Never rejects: at worst, an alert is sent again. */
  async #remember(sessionKey: string, lastHeartbeatText: string): Promise<void> {
    const { sessions, clock, log } = this.#sources;
    const sent = { lastHeartbeatText, lastHeartbeatSentAt: clock.now() };
    await sessions.update(sessionKey, sent).catch((error: unknown) => {
      log.warn(
        { err: error, sessionKey },
        "the last alert of a session could not be stored; the alert may be sent again",
      );
    });
  }

  /** Idempotent: sends the same text only once. */
  async #deliver(
    { runId, sessionKey }: Beat,
    { target, to, accountId, directPolicy }: HeartbeatSettings,
    text: string,
    kind: string,
  ): Promise<DeliveryOutcome> {
    const delivery = this.#sources.delivery.get();
    if (!delivery) return { delivered: false, reason: "no plugin of this gateway delivers to channels" };
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

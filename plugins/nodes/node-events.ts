/** Handles events of nodes. Spec: protocol/methods-node.md §3. */
import { readAttachments } from "@svc/kit/media";
import {
  type Clock,
  type HookEmitter,
  type HOOKS,
  isGatewayError,
  type Live,
  type Logger,
  outsideOrigin,
} from "@svc/sdk";
import type { SystemEvents } from "@svc/sdk/heartbeat";
import { parseThinkingLevel } from "@svc/sdk/models";
import type { Sessions } from "@svc/sdk/sessions";
import { execText, MAX_MESSAGE_CHARS, notificationText, requestMessage, spokenMessage } from "./event-texts.ts";
import { type Asker, type NodeRuns, ownSession } from "./node-runs.ts";
import { type PushRegistration, readRegistration } from "./push/store.ts";
import { fingerprintOf, RecentTranscripts } from "./spoken.ts";
import type { StartedRun } from "./started-runs.ts";
import type { Subscriptions } from "./subscriptions.ts";
import { fieldsOf, textField } from "./values.ts";

/** An event and its sender. */
export interface NodeEvent extends Asker {
  readonly connectionId: string;
  /** Name of the node, for people and models. */
  readonly name: string;
  readonly event: string;
  readonly payload: unknown;
}

interface EventSources {
  readonly runs: NodeRuns;
  readonly sessions: Live<Sessions>;
  readonly events: Live<SystemEvents>;
  readonly subscriptions: Subscriptions;
  readonly spoke: HookEmitter<typeof HOOKS.nodeSpoke>;
  readonly keepPush: (nodeId: string, registration: PushRegistration) => Promise<void>;
  /** A program that this gateway started on the node; `undefined`: no such program. */
  readonly started: (nodeId: string, runId: string) => Promise<StartedRun | undefined>;
  /** Whether this is the node's current connection. */
  readonly isCurrent: (nodeId: string, connectionId: string) => boolean;
  readonly clock: Pick<Clock, "now" | "elapsed">;
  readonly log: Logger;
  readonly newId: () => string;
}

/** Why an event is ignored; nothing if it is not. */
type Ignored = string | undefined;

type Handler = (event: NodeEvent) => Promise<Ignored> | Ignored;

/** Whether this gateway has a use for the event. */
export interface Handled {
  readonly handled: boolean;
  readonly reason?: string;
}

/** Choice: maximum characters of a session key. */
const MAX_KEY_CHARS = 512;

export class NodeEvents {
  readonly #sources: EventSources;
  readonly #transcripts: RecentTranscripts;
  /** Kinds of events already logged because their service is absent. */
  readonly #told = new Set<string>();
  readonly #handlers: ReadonlyMap<string, Handler>;

  constructor(sources: EventSources) {
    this.#sources = sources;
    this.#transcripts = new RecentTranscripts(sources.clock);
    const exec: Handler = (event) => this.#exec(event);
    this.#handlers = new Map<string, Handler>([
      ["voice.transcript", (event) => this.#spoken(event)],
      ["agent.request", (event) => this.#request(event)],
      ["notifications.changed", (event) => this.#notified(event)],
      ["exec.started", exec],
      ["exec.finished", exec],
      ["exec.denied", exec],
      ["chat.subscribe", (event) => this.#follow(event, true)],
      ["chat.unsubscribe", (event) => this.#follow(event, false)],
      ["push.apns.register", (event) => this.#registerPush(event)],
    ]);
  }

  /**
   * Unusable events are logged and skipped. Resolves when the effects are durable.
   * @throws GatewayError `UNAVAILABLE`: the node may retry later
   */
  async handle(event: NodeEvent): Promise<Handled> {
    const { log } = this.#sources;
    const handler = this.#handlers.get(event.event);
    if (!handler) {
      log.debug({ nodeId: event.nodeId, event: event.event.slice(0, 100) }, "unknown event of a node");
      return { handled: false, reason: "unknown event" };
    }
    try {
      const reason = await handler(event);
      return reason === undefined ? { handled: true } : { handled: false, reason };
    } catch (error) {
      if (!isGatewayError(error) || error.code === "UNAVAILABLE") throw error;
      log.info(
        { nodeId: event.nodeId, event: event.event, reason: error.message },
        "an event of a node was refused and is ignored",
      );
      return { handled: false, reason: error.message };
    }
  }

  async #spoken({ nodeId, principal, event, payload }: NodeEvent): Promise<Ignored> {
    const text = textField(fieldsOf(payload), "text");
    if (text === undefined || text.length > MAX_MESSAGE_CHARS) return this.#unusable(nodeId, event);
    const { runs, newId } = this.#sources;
    if (!runs.isPossible) return this.#absent(event);
    const sessionKey = runs.sessionKey(sessionField(payload) ?? "main");
    const mark = [nodeId, sessionKey, fingerprintOf(payload, text)];
    if (!this.#transcripts.isNew(...mark)) return "repeated";
    void this.#sources.spoke.emit({ nodeId, sessionKey });
    try {
      const message = spokenMessage(text);
      await runs.start({ nodeId, principal }, sessionKey, { runId: `voice-${newId()}`, message, thinking: "low" });
      return undefined;
    } catch (error) {
      this.#transcripts.forget(...mark);
      throw error;
    }
  }

  async #request({ nodeId, principal, name, event, payload }: NodeEvent): Promise<Ignored> {
    const fields = fieldsOf(payload);
    const message = textField(fields, "message");
    if (message === undefined || message.length > MAX_MESSAGE_CHARS) return this.#unusable(nodeId, event);
    const { runs, newId } = this.#sources;
    if (!runs.isPossible) return this.#absent(event);
    if (fields["deliver"] === true || fields["receipt"] === true) this.#absent("agent.request with deliver or receipt");
    const attachments: unknown = fields["attachments"];
    const { images, dropped } = readAttachments(Array.isArray(attachments) ? attachments.slice(0, 20) : []);
    for (const reason of dropped) this.#sources.log.info({ nodeId, reason }, "an attachment of a node is skipped");
    const thinking = parseThinkingLevel(textField(fields, "thinking") ?? "");
    const seconds: unknown = fields["timeoutSeconds"];
    await runs.start({ nodeId, principal }, runs.sessionKey(sessionField(payload) ?? ownSession(nodeId)), {
      runId: newId(),
      message: requestMessage(name, message),
      origin: outsideOrigin("node", name),
      ...(images.length > 0 && { images }),
      ...(thinking !== undefined && { thinking }),
      ...(typeof seconds === "number" && seconds > 0 && { timeoutMs: Math.min(seconds, 86_400) * 1_000 }),
    });
    return undefined;
  }

  async #notified(event: NodeEvent): Promise<Ignored> {
    const text = notificationText(event.nodeId, event.payload);
    if (text === undefined) return this.#unusable(event.nodeId, event.event);
    return this.#report(event, text, this.#sources.newId());
  }

  /**
   * Choice: reports are accepted only for programs that this gateway started on the node, and go to the session that requested
   * them; otherwise a node could send any text to any session. A repeated report of one run is delivered once.
   */
  async #exec({ payload, ...event }: NodeEvent): Promise<Ignored> {
    const { nodeId } = event;
    const text = execText(nodeId, event.event, payload);
    const runId = textField(fieldsOf(payload), "runId");
    if (text === undefined) return "nothing to report";
    const run = runId === undefined ? undefined : await this.#sources.started(nodeId, runId);
    if (!run) {
      const about = { nodeId, event: event.event, runId: runId?.slice(0, 200) };
      this.#sources.log.info(
        about,
        "a node reported a program that this gateway did not start on it; the report is ignored",
      );
      return "this gateway did not start the program";
    }
    return this.#report({ ...event, payload: run }, text, `${event.event}:${runId}`);
  }

  /** Adds a system event and wakes the session. */
  async #report({ nodeId, event, payload }: NodeEvent, text: string, id: string): Promise<Ignored> {
    const { sessions, events, clock } = this.#sources;
    const [known, queue] = [sessions.get(), events.get()];
    if (!known || !queue) return this.#absent(event);
    await queue.add({
      id: `node:${nodeId}:${id}`,
      sessionKey: known.canonicalKey(sessionField(payload) ?? ownSession(nodeId)),
      text,
      wake: "now",
      origin: outsideOrigin("node", nodeId),
      reason: `node:${event}`,
      at: clock.now(),
    });
    return undefined;
  }

  #follow({ nodeId, connectionId, event, payload }: NodeEvent, wanted: boolean): Ignored {
    const key = textField(fieldsOf(payload), "sessionKey");
    if (key === undefined) return this.#unusable(nodeId, event);
    const { subscriptions, isCurrent } = this.#sources;
    if (!isCurrent(nodeId, connectionId)) return "the connection was replaced"; // it may have closed, and the subscription would never be removed
    if (!wanted) subscriptions.unsubscribe(connectionId, key);
    return !wanted || subscriptions.subscribe(connectionId, key) ? undefined : this.#unusable(nodeId, event);
  }

  async #registerPush({ nodeId, event, payload }: NodeEvent): Promise<Ignored> {
    const registration = readRegistration(fieldsOf(payload));
    if (!registration) return this.#unusable(nodeId, event);
    await this.#sources.keepPush(nodeId, registration);
    return undefined;
  }

  #unusable(nodeId: string, event: string): string {
    this.#sources.log.info({ nodeId, event }, "an event of a node has no usable payload");
    return "the payload is not usable";
  }

  #absent(kind: string): string {
    const reason = "no plugin handles it";
    if (this.#told.has(kind)) return reason;
    this.#told.add(kind);
    this.#sources.log.warn({ kind }, "nodes send events that no plugin of this gateway handles; they are ignored");
    return reason;
  }
}

/** The session key as sent; one that is too long counts as absent. */
function sessionField(payload: unknown): string | undefined {
  const key = textField(fieldsOf(payload), "sessionKey");
  return key !== undefined && key.length <= MAX_KEY_CHARS ? key : undefined;
}

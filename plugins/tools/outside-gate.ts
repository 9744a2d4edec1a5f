/** Gate before a call for which the authors of the conversation lack authority: asks a person, or refuses the call. */
import { createHash } from "node:crypto";
import { authorsOf, GatewayError, isGatewayError } from "@svc/sdk";
import type { ApprovalAnswer, ApprovalQuestion, Approver } from "@svc/sdk/gateway";
import type { Sessions } from "@svc/sdk/sessions";
import type { EffectsContext, Tool, ToolCall, ToolEffect, ToolScene } from "@svc/sdk/tools";
import { certainEffects, type FromOutside, reasonFor, unbacked } from "./authority.ts";

/** Choice: maximum number of runs, and of calls of one run, whose answers are remembered; the oldest are dropped. */
const KEPT_RUNS = 256;
const KEPT_CALLS = 64;
/** Choice: maximum number of characters of a call in a request for approval, since people have to see all of it. */
const MAX_ASKED_CHARS = 3_500;
/** Effects that cannot be allowed for a whole conversation: a single call can have any consequence. */
const ONE_BY_ONE: ReadonlySet<ToolEffect> = new Set(["runs-code", "writes-identity", "changes-gateway"]);

/** A call to be checked. */
export interface Attempted {
  readonly tool: Pick<Tool, "effects" | "scope" | "ownerOnly" | "asksItself">;
  readonly call: ToolCall;
  readonly outside: ToolScene["outside"];
  /** Effects of this call. */
  effects(context: EffectsContext): Promise<readonly ToolEffect[]>;
}

export interface OutsideGateSources {
  /** The current `tools.fromOutside`. */
  readonly mode: () => FromOutside;
  readonly approver: () => Approver | undefined;
  readonly sessions: () => Pick<Sessions, "get"> | undefined;
}

export class OutsideGate {
  readonly #sources: OutsideGateSources;
  /** By run, then by call, so that people are asked the same question only once. */
  readonly #answers = new Map<string, Map<string, Promise<ApprovalAnswer>>>();

  constructor(sources: OutsideGateSources) {
    this.#sources = sources;
  }

  /** Whether every call of the tool would be refused, so that the tool is not offered. */
  excludes(tool: Attempted["tool"], outside: Attempted["outside"]): boolean {
    if (outside === undefined || this.#sources.mode() !== "deny") return false;
    return unbacked(certainEffects(tool), outside.origin).length > 0;
  }

  /**
   * @returns the reason, for a tool that asks people itself
   * @throws GatewayError `FORBIDDEN` with the reason and the next step
   */
  async check({ tool, call, outside, effects }: Attempted, signal: AbortSignal): Promise<string | undefined> {
    const mode = this.#sources.mode();
    if (outside === undefined || mode === "allow") return undefined;
    const texts = Object.values(call.arguments).flat();
    const seen = texts.filter((value): value is string => typeof value === "string" && outside.saw(value));
    const all = await effects({ call, seen });
    const missing = unbacked(all, outside.origin);
    if (missing.length === 0) return undefined;
    const why = reasonFor(missing, outside);
    if (mode === "deny") throw refused(why, "tools.fromOutside is deny; use a new conversation for that");
    const because = outside.text === "" ? why : `${why}: ${JSON.stringify(outside.text)}`;
    if (tool.asksItself === true) return because;
    const session = await this.#sessionOffer(call, all, outside);
    const { decision, reason } = await this.#ask(call, { missing, why, because, session }, signal);
    signal.throwIfAborted();
    if (decision === "allow-once" || decision === "allow-always") return undefined;
    throw refused(`${why}; ${reason ?? "nobody allowed it"}`, "continue without it, or ask the person you work for");
  }

  /**
   * The grant that people may give for the session: further calls of the tool with the same effects in this conversation, while it
   * contains only text of the same authors.
   */
  async #sessionOffer(
    { name, agentId, sessionKey }: ToolCall,
    effects: readonly ToolEffect[],
    { origin }: NonNullable<Attempted["outside"]>,
  ): Promise<ApprovalQuestion["session"]> {
    const authors = authorsOf(origin);
    if (authors === undefined || effects.some((effect) => ONE_BY_ONE.has(effect))) return undefined;
    const entry = await this.#sources.sessions()?.get(sessionKey);
    if (!entry) return undefined;
    const { sessionId } = entry; // changes with a reset
    const subject = { tool: name, effects: [...new Set(effects)].toSorted(), agentId, sessionKey, sessionId, authors };
    return { title: `every call of ${name} in this conversation`, subject };
  }

  async #ask(
    call: ToolCall,
    { missing, why, because, session }: Grounds,
    signal: AbortSignal,
  ): Promise<ApprovalAnswer> {
    const approver = this.#sources.approver();
    if (!approver) {
      const nobody = `${why}; a person has to allow it, and no plugin for approvals is running`;
      throw refused(nobody, "svc plugins why approvals");
    }
    const { runId, name, arguments: args, agentId, sessionKey } = call;
    const title = `${name} ${JSON.stringify(args)}`;
    if (title.length > MAX_ASKED_CHARS) {
      const long = `${why}; a person has to review the call, and it is longer than ${MAX_ASKED_CHARS} characters`;
      throw refused(long, "do it in smaller steps");
    }
    const subject = { tool: name, arguments: args, effects: missing, agentId, sessionKey };
    const kind = `from-outside:${name}`;
    const known = this.#answersOf(runId);
    const key = createHash("sha256").update(JSON.stringify(subject)).digest("hex");
    const question = { title, subject, session, kind, because, askedBy: "tools", agentId, sessionKey, signal };
    const asked = known.get(key) ?? approver.ask(question);
    keep(known, key, asked, KEPT_CALLS);
    try {
      const answer = await asked;
      if (answer.isGranted === true) known.delete(key);
      return answer;
    } catch (error) {
      known.delete(key);
      if (!isGatewayError(error)) throw error;
      throw refused(`${why}; a person has to allow it, and could not be asked: ${error.message}`, "try again later");
    }
  }

  #answersOf(runId: string): Map<string, Promise<ApprovalAnswer>> {
    const known = this.#answers.get(runId) ?? new Map<string, Promise<ApprovalAnswer>>();
    keep(this.#answers, runId, known, KEPT_RUNS);
    return known;
  }
}

/** Reasons of a request for approval. */
interface Grounds {
  readonly missing: readonly ToolEffect[];
  readonly why: string;
  readonly because: string;
  readonly session: ApprovalQuestion["session"];
}

/** Stores a value as the newest entry, and drops the oldest above `most`. */
function keep<V>(map: Map<string, V>, key: string, value: V, most: number): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > most && oldest !== undefined) map.delete(oldest);
}

function refused(why: string, next: string): GatewayError {
  return new GatewayError("FORBIDDEN", `not allowed: ${why}. Next: ${next}`);
}

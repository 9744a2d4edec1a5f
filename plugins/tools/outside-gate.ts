/** Before a call that words from outside do not suffice for: people are asked, or it is refused. */
import { createHash } from "node:crypto";
import { authorsOf, GatewayError, isGatewayError } from "@svc/sdk";
import type { ApprovalAnswer, ApprovalQuestion, Approver } from "@svc/sdk/gateway";
import type { Sessions } from "@svc/sdk/sessions";
import type { EffectsContext, Tool, ToolCall, ToolEffect, ToolScene } from "@svc/sdk/tools";
import { certainEffects, type FromOutside, reasonFor, unbacked } from "./authority.ts";

/** Choice: runs, and calls of one, whose answers are remembered; the oldest are forgotten. */
const KEPT_RUNS = 256;
const KEPT_CALLS = 64;
/** Choice: characters of a call that people are asked about: they have to see all of it. */
const MAX_ASKED_CHARS = 3_500;
/** Never allowed for a whole conversation: one call of these can do anything, now and later. */
const ONE_BY_ONE: ReadonlySet<ToolEffect> = new Set(["runs-code", "writes-identity", "changes-gateway"]);

/** A call that waits for its yes. */
export interface Attempted {
  readonly tool: Pick<Tool, "effects" | "scope" | "ownerOnly" | "asksItself">;
  readonly call: ToolCall;
  readonly outside: ToolScene["outside"];
  /** What this call does. */
  effects(context: EffectsContext): Promise<readonly ToolEffect[]>;
}

export interface OutsideGateSources {
  /** `tools.fromOutside`, as it is now. */
  readonly mode: () => FromOutside;
  readonly approver: () => Approver | undefined;
  readonly sessions: () => Pick<Sessions, "get"> | undefined;
}

export class OutsideGate {
  readonly #sources: OutsideGateSources;
  /** By run, then by call: the same question is put to people once. */
  readonly #answers = new Map<string, Map<string, Promise<ApprovalAnswer>>>();

  constructor(sources: OutsideGateSources) {
    this.#sources = sources;
  }

  /** Whether every call of the tool would be refused: it need not be offered. */
  excludes(tool: Attempted["tool"], outside: Attempted["outside"]): boolean {
    if (outside === undefined || this.#sources.mode() !== "deny") return false;
    return unbacked(certainEffects(tool), outside.origin).length > 0;
  }

  /**
   * @returns what people have to be told, of a tool that asks them itself
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
    if (mode === "deny") throw refused(why, "tools.fromOutside is deny; start a new conversation for that");
    const because = outside.text === "" ? why : `${why}: ${JSON.stringify(outside.text)}`;
    if (tool.asksItself === true) return because;
    const session = await this.#sessionOffer(call, all, outside);
    const { decision, reason } = await this.#ask(call, { missing, why, because, session }, signal);
    signal.throwIfAborted();
    if (decision === "allow-once" || decision === "allow-always") return undefined;
    throw refused(`${why}; ${reason ?? "nobody allowed it"}`, "do without it, or ask whoever you work for");
  }

  /**
   * What people may allow for the session at once: further calls of the tool that do the same, in this conversation, while it holds
   * words of the same authors only.
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
    const { sessionId } = entry; // another one after a reset
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
      const nobody = `${why}; a person has to allow it, and no plugin that asks people is running`;
      throw refused(nobody, "svc plugins why approvals");
    }
    const { runId, name, arguments: args, agentId, sessionKey } = call;
    const title = `${name} ${JSON.stringify(args)}`;
    if (title.length > MAX_ASKED_CHARS) {
      const long = `${why}; a person has to see all of it, and it is longer than ${MAX_ASKED_CHARS} characters`;
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

/** Why somebody is asked. */
interface Grounds {
  readonly missing: readonly ToolEffect[];
  readonly why: string;
  readonly because: string;
  readonly session: ApprovalQuestion["session"];
}

/** As the newest. */
function keep<V>(map: Map<string, V>, key: string, value: V, most: number): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > most && oldest !== undefined) map.delete(oldest);
}

function refused(why: string, next: string): GatewayError {
  return new GatewayError("FORBIDDEN", `not allowed: ${why}. Next: ${next}`);
}

/** Approval requests (`exec.approval.*`) in a terminal: displayed when they arrive, answered by a line of input. */
import { type Clock, isGatewayError, type ParamsOf } from "@svc/sdk";
import {
  type ApprovalDecision,
  type ApprovalGrant,
  type ApprovalRow,
  execApproval,
  execApprovalRequested,
  execApprovalResolved,
} from "@svc/sdk/approvals";
import { cut, time, visible } from "@svc/sdk/cli";
import type { GatewayClient } from "@svc/sdk/client";

/** Maximum displayed characters of one value. */
const MAX_SHOWN = 4_000;
/** Maximum number of requests read at the start. */
const MAX_OPEN = 500;

/** The decision given by a line of input. */
export type QuestionAnswer = Omit<ParamsOf<typeof execApproval.resolve>, "id">;

const FOR_SESSION: QuestionAnswer = { decision: "allow-always", grant: { for: "session" } };
const ANSWERS: Readonly<Record<string, QuestionAnswer>> = {
  y: { decision: "allow-once" },
  yes: { decision: "allow-once" },
  n: { decision: "deny" },
  no: { decision: "deny" },
  a: { decision: "allow-always" },
  always: { decision: "allow-always" },
  s: FOR_SESSION,
  session: FOR_SESSION,
};

/** Prompt with the possible answers. Pure. */
export function answerPrompt({ request: { session } }: Pick<OpenQuestion, "request">): string {
  const offered = session === undefined ? "" : `s: ${bounded(session, 200)} for 1 h, `;
  return `Allow? y: once, ${offered}always: exactly this for 90 days, n: no`;
}

/** A pending request. */
export type OpenQuestion = Pick<ApprovalRow, "id" | "request" | "createdAtMs" | "expiresAtMs">;

/** News while requests are watched. */
export type QuestionNews =
  | { readonly event: "asked"; readonly question: OpenQuestion }
  /** `decision` is `null` if the request expired. */
  | {
      readonly event: "ended";
      readonly question: OpenQuestion;
      readonly decision: ApprovalDecision | null;
      readonly resolvedBy?: string;
      readonly grant?: ApprovalGrant;
    };

/** Like `visible`, truncated to `max` characters with the number of omitted ones. */
export function bounded(text: string, max: number): string {
  const shown = visible(cut(text, max, ""));
  return text.length <= max ? shown : `${shown}… (${text.length - max} more characters; see --json)`;
}

/** What counts for a decision beside the command, by name; each value is one line of visible characters. Pure. */
export function questionFacts(request: OpenQuestion["request"]): (readonly [name: string, value: string])[] {
  const { commandArgv, envKeys, cwd, nodeId, host, agentId, sessionKey, because, askedBy, resolvedPath } = request;
  const files = (request.files ?? []).map(({ path, sha256, bytes, runs }): [string, string] => [
    runs === true ? "runs" : "file",
    `${path} (${bytes} bytes, sha256 ${sha256})`,
  ]);
  return shownRows([
    ["argv", commandArgv && JSON.stringify(commandArgv)],
    ["program", resolvedPath],
    ...files,
    ["directory", cwd],
    ["environment", envKeys?.join(" ")],
    ["where", nodeId === null ? host : `node ${nodeId}`],
    ["agent", agentId],
    ["session", sessionKey],
    ["because", because],
    ["asked by", askedBy],
  ]);
}

/** Everything relevant for a decision, one line each; text of clients cannot control the terminal. Pure. */
export function questionLines({ request, expiresAtMs }: Pick<OpenQuestion, "request" | "expiresAtMs">): string[] {
  const { command, digest, session } = request;
  return [
    ...shownRows([["command", command]]),
    ...questionFacts(request),
    ...shownRows([
      ["digest", digest],
      ["for session", session],
      ["until", time(expiresAtMs)],
    ]),
  ].map(([name, value]) => `  ${name.padEnd(11)}  ${value}`);
}

function shownRows(rows: readonly (readonly [string, string | null | undefined])[]): (readonly [string, string])[] {
  return rows.flatMap(([name, value]) =>
    value === null || value === undefined ? [] : [[name, bounded(value, MAX_SHOWN)] as const],
  );
}

/** One line about a finished request. Pure. */
export function endLine({ question, decision, resolvedBy, grant }: Extract<QuestionNews, { event: "ended" }>): string {
  const word = { "allow-once": "allowed once", "allow-always": "allowed always", deny: "denied" };
  const by = resolvedBy === undefined ? "" : ` by ${bounded(resolvedBy, 40)}`;
  const { command, session = "" } = question.request;
  if (grant) {
    const what = grant.for === "session" ? session : command;
    return `allowed until ${time(grant.expiresAtMs)}${by}: ${bounded(what, 300)}`;
  }
  return `${decision === null ? "nobody answered in time" : `${word[decision]}${by}`}: ${bounded(command, 300)}`;
}

/** The pending requests that this client may decide; a line of input answers the oldest. */
export class OpenQuestions {
  readonly #client: Pick<GatewayClient, "call" | "on">;
  readonly #clock: Pick<Clock, "now" | "setTimeout">;
  readonly #tell: (news: QuestionNews) => void;
  readonly #open = new Map<string, { readonly question: OpenQuestion; readonly forget: () => void }>();
  readonly #stops: (() => void)[];

  constructor(
    client: Pick<GatewayClient, "call" | "on">,
    tell: (news: QuestionNews) => void,
    clock: Pick<Clock, "now" | "setTimeout"> = OF_THE_PROCESS,
  ) {
    this.#client = client;
    this.#clock = clock;
    this.#tell = tell;
    this.#stops = [
      client.on(execApprovalRequested, (question) => this.#add(question)),
      client.on(execApprovalResolved, ({ id, decision, resolvedBy, grant }) =>
        this.#end(id, decision, { ...(resolvedBy !== undefined && { resolvedBy }), ...(grant && { grant }) }),
      ),
    ];
  }

  /**
   * Adds requests that are already pending and drops those that ended unnoticed.
   * @throws GatewayError if the gateway does not list requests to this client
   */
  async refresh(): Promise<void> {
    const before = [...this.#open.keys()]; // requests that arrive meanwhile may be missing in the list
    const { approvals } = await this.#client.call(execApproval.list, { limit: MAX_OPEN });
    const waiting = approvals.filter(({ status }) => status === "pending");
    for (const id of before) if (!waiting.some((row) => row.id === id)) this.#drop(id);
    for (const row of waiting.toReversed()) this.#add(row);
  }

  get first(): OpenQuestion | undefined {
    const [open] = this.#open.values();
    return open?.question;
  }

  /** Answers the oldest request if `line` is an answer. @returns whether it was @throws GatewayError the refusal */
  async answer(line: string): Promise<boolean> {
    const question = this.first;
    const answer = question && answerIn(line, question);
    if (!answer) return false;
    try {
      await this.#client.call(execApproval.resolve, { id: question.id, ...answer });
    } catch (error) {
      if (isGatewayError(error)) this.#drop(question.id); // decided by another client, expired, or not for this client
      throw error;
    }
    return true;
  }

  close(): void {
    for (const stop of this.#stops) stop();
    for (const id of this.#open.keys()) this.#drop(id);
  }

  #add(question: OpenQuestion): void {
    const { id, expiresAtMs } = question;
    if (this.#open.has(id)) return;
    // There is no event for an expiry.
    const forget = this.#clock.setTimeout(() => this.#end(id, null, {}), expiresAtMs - this.#clock.now());
    this.#open.set(id, { question, forget });
    this.#tell({ event: "asked", question });
  }

  #end(
    id: string,
    decision: ApprovalDecision | null,
    more: { readonly resolvedBy?: string; readonly grant?: ApprovalGrant },
  ): void {
    const question = this.#open.get(id)?.question;
    if (!question) return;
    this.#drop(id);
    this.#tell({ event: "ended", question, decision, ...more });
  }

  #drop(id: string): void {
    this.#open.get(id)?.forget();
    this.#open.delete(id);
  }
}

const OF_THE_PROCESS: Pick<Clock, "now" | "setTimeout"> = {
  now: Date.now,
  setTimeout(work, ms) {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  },
};

/** The decision in a line; `undefined` if it is none, or not offered by the request. Pure. */
export function answerIn(line: string, { request }: Pick<OpenQuestion, "request">): QuestionAnswer | undefined {
  const word = line.trim().toLowerCase();
  const answer = Object.hasOwn(ANSWERS, word) ? ANSWERS[word] : undefined;
  return answer === FOR_SESSION && request.session === undefined ? undefined : answer;
}

/** Builds a question from the params of a client or plugin, so that people see exactly what is bound and may run. Pure. */
import { commandText, commandTexts, envHash, planDigest } from "@svc/kit/exec";
import { invalidRequest, type ParamsOf } from "@svc/sdk";
import type { ApprovalRequestView, execApproval, SystemRunPlan } from "@svc/sdk/approvals";
import { cut, visibleLines } from "@svc/sdk/cli";
import { refusal } from "@svc/sdk/errors";
import type { ApprovalQuestion } from "@svc/sdk/gateway";
import { digestOf, questionDigest } from "./canonical.ts";

type RequestParams = ParamsOf<typeof execApproval.request>;

/** A question without requester and times. */
export interface Asked {
  /** `exec` for commands, otherwise `question:<kind>`; grants of one kind never apply to another. */
  readonly kind: string;
  readonly digest: string;
  /** Digest of what a grant for the session would cover; `null`: none is offered. */
  readonly sessionDigest: string | null;
  readonly view: ApprovalRequestView;
  /** Command that may run on a node; `null` for other questions. */
  readonly plan: SystemRunPlan | null;
  readonly envHash: string | null;
}

/** Choice: maximum characters of the whole view, of its title, and of its explanation. */
const MAX_VIEW_CHARS = 256 * 1024;
const MAX_TITLE = 4_000;
const MAX_BECAUSE = 2_000;

/** @throws GatewayError `INVALID_REQUEST`. Spec: methods-exec-approvals.md §2 */
export function askedCommand(params: RequestParams): Asked {
  const asked = params.host === "node" ? askedOfNode(params) : askedElsewhere(params);
  if (JSON.stringify(asked.view).length > MAX_VIEW_CHARS) {
    invalidRequest(`the command is longer than ${MAX_VIEW_CHARS} characters; put it into a file and ask to run that`);
  }
  return seen(asked);
}

/** Choice: escapes invisible characters in the texts people read. The bound argv, digest and plan stay unchanged. */
function seen(asked: Asked): Asked {
  const { command, session, because } = asked.view;
  const lines = {
    command: visibleLines(command),
    ...(session !== undefined && { session: visibleLines(session) }),
    ...(because !== undefined && { because: visibleLines(because) }),
  };
  return { ...asked, view: { ...asked.view, ...lines } };
}

/** The values of the plan count, not the params of the same name. */
function askedOfNode(params: RequestParams): Asked {
  const nodeId = said(params.nodeId);
  if (nodeId === null) return invalidRequest("host node needs nodeId: the node that runs it; see node.list");
  const given = params.systemRunPlan;
  if (given === undefined || given.argv.length === 0 || given.argv[0]?.trim() === "") {
    return invalidRequest("host node needs systemRunPlan with an argv that names a program; see system.run.prepare");
  }
  const plan: SystemRunPlan = {
    argv: given.argv,
    cwd: said(given.cwd),
    rawCommand: said(given.rawCommand),
    agentId: said(given.agentId),
    sessionKey: said(given.sessionKey),
  };
  const { argv, cwd, rawCommand, agentId, sessionKey } = plan;
  // People read this text but allow the argv, so both must match.
  if (rawCommand !== null && !commandTexts(argv).includes(rawCommand.trim())) {
    const shown = JSON.stringify(commandText(argv).slice(0, 200));
    const message = `systemRunPlan.rawCommand is not the text of its argv; leave it null, or send ${shown}`;
    throw refusal("RAW_COMMAND_MISMATCH", message);
  }
  const hash = envHash(params.env);
  const files = params.files ?? [];
  const digest = planDigest({ argv, cwd, agentId, sessionKey, envHash: hash, nodeId, files });
  const bound = { argv, cwd, agentId, sessionKey, envHash: hash };
  const view: ApprovalRequestView = {
    ...viewOf(params),
    command: rawCommand ?? commandText(argv),
    commandArgv: argv,
    digest,
    ...(params.files !== undefined && { files }),
    systemRunBinding: bound,
    systemRunPlan: plan,
    cwd,
    nodeId,
    agentId,
    sessionKey,
  };
  return { kind: "exec", digest, sessionDigest: null, view, plan, envHash: hash };
}

/** Choice: also binds the resolved path of the program. */
function askedElsewhere(params: RequestParams): Asked {
  const hash = envHash(params.env);
  const view = viewOf(params);
  const { command, cwd, agentId, sessionKey, host, resolvedPath } = view;
  const argv = params.commandArgv ?? null;
  const digest = digestOf(["command", host, command, argv, cwd, hash, agentId, sessionKey, resolvedPath]);
  return { kind: "exec", digest, sessionDigest: null, view: { ...view, digest }, plan: null, envHash: hash };
}

/** Choice: shows the names of variables for every host, since approvers need them to decide. */
function viewOf(params: RequestParams): ApprovalRequestView {
  const envKeys = Object.keys(params.env ?? {}).sort();
  return {
    command: params.command,
    ...(params.commandArgv && { commandArgv: params.commandArgv }),
    ...(envKeys.length > 0 && { envKeys }),
    ...NOTHING,
    cwd: said(params.cwd),
    host: said(params.host),
    security: said(params.security),
    ask: said(params.ask),
    agentId: said(params.agentId),
    resolvedPath: said(params.resolvedPath),
    sessionKey: said(params.sessionKey),
    turnSourceChannel: said(params.turnSourceChannel),
    turnSourceTo: said(params.turnSourceTo),
    turnSourceAccountId: said(params.turnSourceAccountId),
    turnSourceThreadId: params.turnSourceThreadId ?? null,
  };
}

const NOTHING = {
  systemRunBinding: null,
  systemRunPlan: null,
  cwd: null,
  nodeId: null,
  host: null,
  security: null,
  ask: null,
  agentId: null,
  resolvedPath: null,
  sessionKey: null,
  turnSourceChannel: null,
  turnSourceTo: null,
  turnSourceAccountId: null,
  turnSourceThreadId: null,
} as const;

/** A question of a gate or plugin. Subjects are bound by digest but not stored: they may hold secrets. @throws GatewayError `INVALID_REQUEST` */
export function askedQuestion({
  title,
  subject,
  session,
  files,
  kind,
  because,
  askedBy,
  agentId,
  sessionKey,
}: ApprovalQuestion): Asked {
  const digest = questionDigest(kind, subject);
  const command = cut(title, MAX_TITLE);
  const view: ApprovalRequestView = {
    command,
    digest,
    ...(files !== undefined && { files: [...files] }),
    ...(session !== undefined && { session: cut(session.title, MAX_TITLE) }),
    ...(because === undefined ? {} : { because: cut(because, MAX_BECAUSE) }),
    askedBy: askedBy.slice(0, 200),
    ...NOTHING,
    host: "gateway",
    agentId: agentId ?? null,
    sessionKey: sessionKey ?? null,
  };
  const sessionDigest = session === undefined ? null : questionDigest(kind, session.subject, "session");
  return seen({ kind: `question:${kind}`, digest, sessionDigest, view, plan: null, envHash: null });
}

/** Absent, `null` and `""` all become `null`. */
function said(text: string | null | undefined): string | null {
  return text === undefined || text === null || text === "" ? null : text;
}

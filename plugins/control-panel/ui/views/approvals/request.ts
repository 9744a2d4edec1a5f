/** An approval request, with everything that people need to judge it. All of it is text of others. */
import type { Static } from "@svc/sdk";
import type { ApprovalRow } from "@svc/sdk/approvals";
import { html, nothing, type TemplateResult } from "lit";
import { hrefOf } from "../../core/address.ts";
import { t } from "../../core/text.ts";
import { badge, facts, type Tone } from "../../parts/show.ts";
import { ago, absolute, bytes } from "../../parts/time.ts";

export type Approval = Static<typeof ApprovalRow>;
type Request = Approval["request"];

/** What is asked for: the command in full, or the question of a plugin. */
export function commandOf({ request: { command, commandArgv } }: Approval): TemplateResult {
  return html`<pre class="command-text">${command}</pre>
    ${
      commandArgv === undefined || commandArgv.length === 0
        ? nothing
        : html`<ol class="argv" aria-label=${t.approvals.argv}>
            ${commandArgv.map((word) => html`<li><code>${word === "" ? t.approvals.emptyWord : word}</code></li>`)}
          </ol>`
    }`;
}

/** Everything else about a request, as facts. @param nodeName a name for the id of a node. @param first facts above them */
export function factsOf(
  { request, createdAtMs }: Approval,
  nodeName: (id: string) => string,
  first: Parameters<typeof facts>[0] = [],
): TemplateResult {
  const { cwd, resolvedPath, host, nodeId, agentId, sessionKey, envKeys, files, askedBy, security, ask } = request;
  const { approvals } = t;
  return facts([
    ...first,
    [approvals.because, request.because && html`<span class="because">${request.because}</span>`],
    [approvals.cwd, cwd && html`<code>${cwd}</code>`],
    [approvals.program, resolvedPath && html`<code>${resolvedPath}</code>`],
    [approvals.where, nodeId ? approvals.onNode(nodeName(nodeId)) : host],
    [approvals.env, envKeys?.length ? html`<code>${envKeys.join(", ")}</code>` : ""],
    [approvals.files, files?.length ? filesOf(files) : ""],
    [approvals.agent, agentId],
    [approvals.session, sessionKey && chatLink(sessionKey)],
    [approvals.channel, channelOf(request)],
    [approvals.askedBy, askedBy],
    [approvals.policy, [security, ask].filter(Boolean).join(", ")],
    [approvals.asked, ago(createdAtMs)],
    [approvals.lastingCovers, [coverageOf(request), request.session].filter(Boolean).join(" ")],
  ]);
}

function filesOf(files: NonNullable<Request["files"]>): TemplateResult {
  return html`<ul class="plain-list">
    ${files.map(
      ({ path, bytes: size, sha256, runs }) =>
        html`<li>
          <code>${path}</code> ${runs === true ? badge(t.approvals.runs, "warning") : nothing}
          <small>${bytes(size)}, SHA-256 <span title=${sha256}>${sha256.slice(0, 16)} …</span></small>
        </li>`,
    )}
  </ul>`;
}

function chatLink(session: string): TemplateResult {
  return html`<a href=${hrefOf("chat", { session })}>${session}</a>`;
}

function channelOf({ turnSourceChannel, turnSourceTo, turnSourceAccountId, turnSourceThreadId }: Request) {
  const parts = [turnSourceChannel, turnSourceAccountId, turnSourceTo, turnSourceThreadId];
  return parts.filter((part) => part !== null && part !== undefined && part !== "").join(" · ");
}

/** What a decision beyond once covers. */
export function coverageOf({ nodeId, files = [], envKeys = [] }: Request): string {
  const { covers } = t.approvals;
  return [
    covers.command,
    ...(envKeys.length > 0 ? [covers.env] : []),
    ...(files.length > 0 ? [covers.files] : []),
    ...(nodeId ? [covers.node] : []),
  ].join(" ");
}

/** The end of a request in one word. */
export function outcomeOf({ status, decision, grant }: Approval): TemplateResult {
  const { approvals } = t;
  if (status === "expired" || decision === undefined) return badge(approvals.expired, "neutral");
  if (decision === "deny") return badge(approvals.denied, "bad");
  const tone: Tone = "good";
  if (grant) return badge(approvals.allowedUntil(absolute(grant.expiresAtMs)), tone);
  return badge(decision === "allow-always" ? approvals.allowedAlways : approvals.allowedOnce, tone);
}

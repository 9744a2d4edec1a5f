/** Mappings of GitHub events. Pure. */
import type { WebhookMapping, WebhookMatch } from "@svc/sdk/webhooks";

const REPOSITORY = "{{repository.full_name}}";

/** An event that an agent handles. */
interface Event {
  readonly id: string;
  /** `x-github-event` */
  readonly event: string;
  readonly when?: WebhookMatch["when"];
  /** Last part of the session key, after the repository. */
  readonly session: string;
  readonly lines: readonly string[];
}

const EVENTS: readonly Event[] = [
  {
    id: "github-issue",
    event: "issues",
    when: { action: "opened" },
    session: "issue:{{issue.number}}",
    lines: [
      `Issue #{{issue.number}} was opened in ${REPOSITORY} by {{issue.user.login}}: {{issue.title}}`,
      "{{issue.html_url}}",
      "",
      "{{issue.body}}",
    ],
  },
  {
    id: "github-pull-request-comment",
    event: "issue_comment",
    when: { action: "created", "issue.pull_request": { exists: true }, "comment.user.type": { not: "Bot" } },
    session: "pull:{{issue.number}}",
    lines: [
      `{{comment.user.login}} commented on pull request #{{issue.number}} of ${REPOSITORY}: {{issue.title}}`,
      "{{comment.html_url}}",
      "",
      "{{comment.body}}",
    ],
  },
  {
    id: "github-issue-comment",
    event: "issue_comment",
    when: { action: "created", "issue.pull_request": { exists: false }, "comment.user.type": { not: "Bot" } },
    session: "issue:{{issue.number}}",
    lines: [
      `{{comment.user.login}} commented on issue #{{issue.number}} of ${REPOSITORY}: {{issue.title}}`,
      "{{comment.html_url}}",
      "",
      "{{comment.body}}",
    ],
  },
  {
    id: "github-pull-request",
    event: "pull_request",
    when: { action: ["opened", "reopened", "ready_for_review"] },
    session: "pull:{{pull_request.number}}",
    lines: [
      `Pull request #{{pull_request.number}} of ${REPOSITORY} by {{pull_request.user.login}} ({{action}}): {{pull_request.title}}`,
      "{{pull_request.html_url}}",
      "{{pull_request.head.label}} into {{pull_request.base.label}}: {{pull_request.commits}} commits, {{pull_request.changed_files}} files, +{{pull_request.additions}} -{{pull_request.deletions}}",
      "",
      "{{pull_request.body}}",
    ],
  },
  {
    id: "github-workflow-failure",
    event: "workflow_run",
    when: { action: "completed", "workflow_run.conclusion": ["failure", "timed_out", "startup_failure"] },
    session: "workflow:{{workflow_run.id}}",
    lines: [
      `Workflow {{workflow_run.name}} of ${REPOSITORY} ended with {{workflow_run.conclusion}} on {{workflow_run.head_branch}}`,
      "{{workflow_run.html_url}}",
      "Commit {{workflow_run.head_sha}}: {{workflow_run.head_commit.message}}",
    ],
  },
  {
    id: "github-check-failure",
    event: "check_run",
    when: {
      action: "completed",
      "check_run.conclusion": ["failure", "timed_out", "action_required"],
      "check_run.app.slug": { not: "github-actions" }, // arrives as a workflow event
    },
    session: "check:{{check_run.id}}",
    lines: [
      `Check {{check_run.name}} of ${REPOSITORY} ended with {{check_run.conclusion}}`,
      "{{check_run.html_url}}",
      "Commit {{check_run.head_sha}}",
      "",
      "{{check_run.output.title}}",
      "{{check_run.output.summary}}",
    ],
  },
  {
    id: "github-push",
    event: "push",
    when: { deleted: { not: true } },
    session: "push:{{after}}",
    lines: [
      `{{pusher.name}} pushed to {{ref}} of ${REPOSITORY}`,
      "{{compare}}",
      "Newest commit {{head_commit.id}}: {{head_commit.message}}",
    ],
  },
  {
    id: "github-release",
    event: "release",
    when: { action: "published" },
    session: "release:{{release.id}}",
    lines: [
      `Release {{release.tag_name}} of ${REPOSITORY} was published by {{release.author.login}}: {{release.name}}`,
      "{{release.html_url}}",
      "",
      "{{release.body}}",
    ],
  },
];

const PATH = "github";

function toMapping({ id, event, when, session, lines }: Event): WebhookMapping {
  return {
    id,
    match: { path: PATH, headers: { "x-github-event": event }, ...(when ? { when } : {}) },
    action: "agent",
    name: "GitHub",
    sessionKey: `hook:github:${REPOSITORY}:${session}`,
    idempotencyKey: "{{headers.x-github-delivery}}",
    messageTemplate: lines.join("\n"),
  };
}

const skip = () => null;

/**
 * `POST {hooks.path}/github`. The last mapping matches all other events and starts nothing, so that GitHub does not show a
 * failure for every event that is not handled.
 */
export const MAPPINGS: readonly WebhookMapping[] = [
  { id: "github-ping", match: { path: PATH, headers: { "x-github-event": "ping" } }, action: "agent", transform: skip },
  ...EVENTS.map(toMapping),
  { id: "github-other", match: { path: PATH }, action: "agent", transform: skip },
];

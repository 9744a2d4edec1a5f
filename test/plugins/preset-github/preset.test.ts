import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { violations } from "@svc/sdk";
import { GithubConfig } from "../../../plugins/preset-github/config.ts";
import plugin from "../../../plugins/preset-github/plugin.ts";
import { make, presetOf } from "../preset-scene.ts";

const { id, preset } = presetOf(plugin, {});
const repository = { full_name: "ada/engine" };
const issue = {
  number: 7,
  title: "It stops",
  html_url: "https://h/i/7",
  body: "After a while.",
  user: { login: "bob" },
};
const comment = { body: "Me too.", html_url: "https://h/c/1", user: { login: "eve", type: "User" } };
const pull = {
  number: 8,
  title: "Mend it",
  html_url: "https://h/p/8",
  body: "It goes on.",
  user: { login: "bob" },
  head: { label: "bob:mend" },
  base: { label: "ada:main" },
  commits: 2,
  changed_files: 3,
  additions: 10,
  deletions: 4,
};
const workflow = {
  id: 99,
  name: "CI",
  conclusion: "failure",
  html_url: "https://h/w/99",
  head_branch: "main",
  head_sha: "abc",
  head_commit: { message: "Mend" },
};
const check = {
  id: 5,
  name: "scan",
  conclusion: "failure",
  html_url: "https://h/k/5",
  head_sha: "abc",
  app: { slug: "scanner" },
  output: { title: "1 finding", summary: "Look." },
};
const push = {
  ref: "refs/heads/main",
  after: "abc",
  deleted: false,
  compare: "https://h/d",
  pusher: { name: "bob" },
  head_commit: { id: "abc", message: "Mend it" },
};
const release = {
  id: 3,
  tag_name: "v1",
  name: "One",
  html_url: "https://h/r/3",
  body: "New.",
  author: { login: "ada" },
};

const send = (event: string, payload: object) =>
  make(preset, {
    path: "github",
    headers: { "x-github-event": event, "x-github-delivery": "d-1" },
    payload: { repository, ...payload },
  });

describe("an event of GitHub", () => {
  const rows: [id: string, event: string, payload: object, session: string, message: string][] = [
    [
      "github-issue",
      "issues",
      { action: "opened", issue },
      "issue:7",
      "Issue #7 was opened in ada/engine by bob: It stops\nhttps://h/i/7\n\nAfter a while.",
    ],
    [
      "github-issue-comment",
      "issue_comment",
      { action: "created", issue, comment },
      "issue:7",
      "eve commented on issue #7 of ada/engine: It stops\nhttps://h/c/1\n\nMe too.",
    ],
    [
      "github-pull-request-comment",
      "issue_comment",
      { action: "created", issue: { ...issue, pull_request: { url: "u" } }, comment },
      "pull:7",
      "eve commented on pull request #7 of ada/engine: It stops\nhttps://h/c/1\n\nMe too.",
    ],
    ...["opened", "reopened", "ready_for_review"].map((action): [string, string, object, string, string] => [
      "github-pull-request",
      "pull_request",
      { action, pull_request: pull },
      "pull:8",
      `Pull request #8 of ada/engine by bob (${action}): Mend it\nhttps://h/p/8\nbob:mend into ada:main: 2 commits, 3 files, +10 -4\n\nIt goes on.`,
    ]),
    [
      "github-workflow-failure",
      "workflow_run",
      { action: "completed", workflow_run: workflow },
      "workflow:99",
      "Workflow CI of ada/engine ended with failure on main\nhttps://h/w/99\nCommit abc: Mend",
    ],
    [
      "github-check-failure",
      "check_run",
      { action: "completed", check_run: check },
      "check:5",
      "Check scan of ada/engine ended with failure\nhttps://h/k/5\nCommit abc\n\n1 finding\nLook.",
    ],
    [
      "github-push",
      "push",
      push,
      "push:abc",
      "bob pushed to refs/heads/main of ada/engine\nhttps://h/d\nNewest commit abc: Mend it",
    ],
    [
      "github-release",
      "release",
      { action: "published", release },
      "release:3",
      "Release v1 of ada/engine was published by ada: One\nhttps://h/r/3\n\nNew.",
    ],
  ];
  for (const [mapping, event, payload, session, message] of rows) {
    it(`${event} is taken by ${mapping}: ${session} ${message.slice(0, 40)}`, async () => {
      const made = await send(event, payload);
      assert.equal(made?.mapping.id, mapping);
      assert.deepEqual(made?.texts, {
        name: "GitHub",
        sessionKey: `hook:github:ada/engine:${session}`,
        idempotencyKey: "d-1",
        messageTemplate: message,
      });
      assert.deepEqual([made?.missing, made?.transformed], [[], undefined]);
    });
  }

  const skipped: [why: string, event: string, payload: object, mapping?: string][] = [
    ["a ping", "ping", { zen: "x" }, "github-ping"],
    ["a closed issue", "issues", { action: "closed", issue }],
    ["a comment of a bot", "issue_comment", { action: "created", issue, comment: { user: { type: "Bot" } } }],
    ["a comment that is taken away", "issue_comment", { action: "deleted", issue, comment }],
    ["a pull request that is merged", "pull_request", { action: "closed", pull_request: pull }],
    [
      "a workflow that went well",
      "workflow_run",
      { action: "completed", workflow_run: { ...workflow, conclusion: "success" } },
    ],
    [
      "a workflow that begins",
      "workflow_run",
      { action: "requested", workflow_run: { ...workflow, conclusion: null } },
    ],
    [
      "a check of a workflow",
      "check_run",
      { action: "completed", check_run: { ...check, app: { slug: "github-actions" } } },
    ],
    ["a branch that is deleted", "push", { ...push, deleted: true, head_commit: null }],
    ["a draft of a release", "release", { action: "created", release }],
    ["an event nobody asked for", "star", { action: "created" }],
  ];
  for (const [why, event, payload, mapping = "github-other"] of skipped) {
    it(`that is ${why} starts nothing`, async () => {
      const made = await send(event, payload);
      assert.deepEqual([made?.mapping.id, made?.transformed], [mapping, null]);
    });
  }

  it("at another path is not looked at", async () => {
    assert.equal(
      await make(preset, { path: "gitlab", headers: { "x-github-event": "push" }, payload: push }),
      undefined,
    );
  });
});

describe("the preset github", () => {
  it("has mappings with ids of their own", () => {
    const ids = preset.mappings.map((mapping) => mapping.id);
    assert.equal(id, "github");
    assert.ok(ids.every((one) => one?.startsWith("github-")));
    assert.equal(new Set(ids).size, ids.length);
  });

  it("asks for GitHub's signature on every mapping when there is a secret", () => {
    assert.ok(preset.mappings.every((mapping) => !("verify" in mapping)));
    for (const secret of ["S", ["S", "T"]]) {
      const { mappings } = presetOf(plugin, { secret }).preset;
      assert.equal(mappings.length, preset.mappings.length);
      for (const { verify } of mappings) assert.deepEqual(verify, { type: "github", secret });
    }
  });

  it("takes a secret or several, and nothing blank", () => {
    for (const valid of [{}, { secret: "x" }, { secret: ["x", "y"] }])
      assert.deepEqual(violations(GithubConfig, valid), []);
    for (const wrong of [{ secret: "" }, { secret: [] }, { secret: [""] }, { secret: 1 }, { secrets: "x" }])
      assert.notDeepEqual(violations(GithubConfig, wrong), []);
  });
});

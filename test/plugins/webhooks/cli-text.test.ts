import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { checkLines, infoLines, listLines, oneRunLines, runLines } from "../../../plugins/webhooks/cli-report.ts";
import { isAccepted, trialLines } from "../../../plugins/webhooks/cli-trial.ts";
import { BUILD, FAILED, MAIL, ROWS, SECOND, TRIAL, WAKE } from "./sample.ts";

/** The value as plain, mutable JSON, as sent over the wire. */
const wire = (value: unknown) => JSON.parse(JSON.stringify(value)) as never;

type Listed = Parameters<typeof listLines>[0];
type Trial = Parameters<typeof trialLines>[0];

const listed = (changes: object = {}): Listed =>
  wire({ enabled: true, path: "/hooks", transformsDir: "/t", mappings: ROWS, ...changes });
const trial = (changes: object = {}): Trial => wire({ ...TRIAL, ...changes });

describe("svc hooks list in words", () => {
  it("has a line a mapping in the order they are tried, with what is wrong", () => {
    assert.deepEqual(listLines(listed()), [
      "#  ID         PATH          ACTION              VERIFY  TRANSFORM       STATE",
      "1  wake       /hooks/wake   wake                bearer  -               on",
      "2  build      /hooks/build  agent               github  build.ts stale  error: line 3: no",
      "3  mapping-2  *             ticket (no plugin)  bearer  -               off",
      "4  mail       /hooks/mail   agent               bearer  -               on",
      "",
      "transforms: /t",
    ]);
  });

  it("reports disabled webhooks, no mappings, and an action without a plugin", () => {
    assert.equal(listLines(listed({ enabled: false }))[0], "webhooks are off: set hooks.enabled and hooks.token");
    assert.match(String(listLines(listed({ mappings: [] }))[0]), /^no mappings below \/hooks; add one/);
    const [, row = ""] = listLines(listed({ mappings: [{ ...SECOND, enabled: true }] }));
    assert.match(row, /error: no plugin provides the action ticket$/);
  });

  it("shows a warning where there is no error, on one line and not too long", () => {
    const message = `first\nsecond ${"x".repeat(300)}`;
    const [, row = ""] = listLines(
      listed({ mappings: [{ ...WAKE, problems: [{ path: "a", message, severity: "warning" }] }] }),
    );
    assert.match(row, /warning: first\\u000asecond x+…$/);
    assert.ok(row.length < 160);
  });
});

describe("svc hooks info in words", () => {
  it("has a line a fact", () => {
    assert.deepEqual(infoLines(wire(BUILD)), [
      "id                   build",
      "origin               config",
      "state                on",
      "path                 /hooks/build",
      'match                {"path":"build","source":"ci"}',
      "action               agent",
      "plugin               agent-hooks",
      "verify               github",
      "transform module     build.ts",
      "transform placement  host",
      "transform timeoutMs  5000",
      "transform state      stale",
      "transform problem    line 3: no",
      "transform version    1a2b",
      "warning: hooks.mappings.0.verify: no replay protection",
      "error: build.ts: line 3: no",
    ]);
  });

  it("says what requests get when no plugin has the action", () => {
    assert.ok(infoLines(wire(SECOND)).includes("action  ticket (no plugin provides it: requests get 501)"));
  });
});

describe("svc hooks check in words", () => {
  it("names each problem with its path, and counts them", () => {
    assert.deepEqual(checkLines({ enabled: true, ok: false, problems: [...BUILD.problems] }), [
      "warning: hooks.mappings.0.verify: no replay protection",
      "error: build.ts: line 3: no",
      "1 error, 1 warning",
    ]);
  });

  it("says that all is well, and that webhooks are off", () => {
    assert.deepEqual(checkLines({ enabled: true, ok: true, problems: [] }), ["no problems"]);
    assert.deepEqual(checkLines({ enabled: false, ok: true, problems: [] }), [
      "webhooks are off: set hooks.enabled and hooks.token",
      "no problems",
    ]);
  });
});

describe("svc hooks try in words", () => {
  it("shows the steps of the request, without control sequences", () => {
    assert.deepEqual(trialLines(trial()), [
      "skipped",
      '  wake  the path is not "wake"',
      "matched by build",
      "rendered",
      "  message  Build 7:",
      "           failed \\u001b[31m",
      "  name     Hook",
      "warning: a template names payload.log, which is not in the payload",
      "transformed",
      "  kind     agent",
      "  message  look at it",
      "action agent",
      "fields",
      "  message  look at it",
      "  deliver  true",
      "policy",
      "  wrapped           true",
      "  verify            github",
      "  sessionKey        hook:1",
      "  principal.id      webhook:build",
      '  principal.scopes  ["operator.write"]',
      "warning: the signature was not looked at",
      'response to the sender: 200 {"ok":true,"runId":"trial"}',
    ]);
  });

  it("says that nothing took it", () => {
    const nothing: Trial = wire({
      matched: false,
      passed: [],
      response: { status: 404, body: "Not Found" },
      warnings: [],
    });
    assert.deepEqual(trialLines(nothing), ["no mapping matched", "response to the sender: 404 Not Found"]);
    assert.equal(isAccepted(nothing), false);
  });

  const transformed: [value: unknown, line: string | undefined][] = [
    [null, "the transform returned null: the request is skipped"],
    [7, "the transform returned 7"],
    [[1], "the transform returned [1]"],
    [{}, "the transform returned {}"],
    [undefined, undefined],
  ];
  for (const [value, line] of transformed) {
    it(`shows a transform that returned ${JSON.stringify(value)}`, () => {
      const lines = trialLines(trial({ transformed: value }));
      assert.equal(
        lines.find((one) => one.startsWith("the transform")),
        line,
      );
    });
  }

  for (const status of [200, 204, 400, 501]) {
    const accepted = status < 300;
    it(`counts ${status} as ${accepted ? "accepted" : "refused"}`, () =>
      assert.equal(isAccepted(trial({ response: { status } })), accepted));
  }
});

describe("svc hooks runs in words", () => {
  it("has a line a run, the reason on one line", () => {
    const done = { ...FAILED, runId: "run-22", status: "done", attempts: 1, reason: undefined, summary: "fine" };
    assert.deepEqual(runLines(wire([FAILED, done]), false), [
      "RUN     STATUS  MAPPING  ACTION  ACCEPTED              ATTEMPTS  NOTE",
      "run-1   failed  build    agent   2026-11-21 12:00:00Z  3         no model\\u000aanswered\\u001b[2J",
      "run-22  done    build    agent   2026-11-21 12:00:00Z  1         fine",
    ]);
  });

  it("says when there are none, and when none fits", () => {
    assert.deepEqual(runLines([], false), ["no webhooks accepted yet; to try one: svc hooks try --help"]);
    assert.deepEqual(runLines([], true), ["no matching webhooks; list all: svc hooks runs"]);
  });

  it("shows one with times, details and the next step", () => {
    const lines = oneRunLines(wire(FAILED));
    assert.ok(lines.includes("acceptedAt  2026-11-21 12:00:00Z"));
    assert.ok(lines.includes('details     {"tries":[1,2]}'));
    assert.deepEqual(lines.slice(lines.indexOf("reason      no model"), lines.indexOf("reason      no model") + 2), [
      "reason      no model",
      "            answered\\u001b[2J",
    ]);
    assert.equal(lines.at(-1), "Next: svc hooks replay run-1");
    assert.equal(oneRunLines(wire({ ...FAILED, replayedAs: "run-2" })).at(-1), "Next: svc hooks runs run-2");
    assert.ok(!oneRunLines(wire({ ...FAILED, status: "done" })).some((line) => line.startsWith("Next")));
  });
});

it("ids of senders' mappings cannot steer a terminal anywhere", () => {
  const evil = "a\u001b]0;x\u0007\u009b2J\u202e\nb";
  const names = { id: evil, path: evil, action: evil, actionOwner: evil, verify: evil, match: { source: evil } };
  const mapping = { ...MAIL, ...names, problems: [{ path: evil, message: evil, severity: "error" }] };
  const ran = { runId: evil, mapping: evil, action: evil, reason: evil, summary: evil, details: { [evil]: evil } };
  const run = { ...FAILED, ...ran };
  const shown = [
    ...listLines(listed({ path: evil, transformsDir: evil, mappings: [mapping] })),
    ...listLines(listed({ path: evil, mappings: [] })),
    ...infoLines(wire(mapping)),
    ...checkLines(wire({ enabled: true, ok: false, problems: mapping.problems })),
    ...runLines(wire([run]), false),
    ...oneRunLines(wire(run)),
    ...trialLines(
      trial({
        mapping: evil,
        passed: [{ id: evil, why: evil }],
        rendered: { [evil]: evil },
        missing: [evil],
        transformed: evil,
        action: evil,
        params: { a: { b: evil } },
        policy: { [evil]: { [evil]: evil } },
        response: { status: 200, body: evil },
        warnings: [evil],
      }),
    ),
  ];
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  for (const line of shown) assert.doesNotMatch(line, /[\u0000-\u001f\u007f-\u009f\u202e]/);
});

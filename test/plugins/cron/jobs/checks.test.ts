/** Settings of a job that can and cannot be combined. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { CronJob } from "@svc/sdk/cron";
import { checkJob } from "../../../../plugins/cron/jobs/checks.ts";

type Checked = Parameters<typeof checkJob>[0];

const context = { defaultAgentId: "main", checkSchedule: () => undefined };
const main: Checked = {
  schedule: { kind: "every", everyMs: 5 },
  sessionTarget: "main",
  payload: { kind: "systemEvent", text: "tea" },
};
const isolated: Checked = { ...main, sessionTarget: "isolated", payload: { kind: "agentTurn", message: "look" } };
const announce = (to: string, channel = "telegram"): Pick<CronJob, "delivery"> => ({
  delivery: { mode: "announce", channel, to },
});

const webhook = (to: string) => ({ mode: "webhook", to }) as const;
const post = (to: string) => ({ delivery: webhook(to) });
const fail = (to: string) => ({ delivery: { mode: "none", failureDestination: webhook(to) } as const });
const alert = (to: string) => ({ failureAlert: webhook(to) });

describe("checkJob", () => {
  const fine: [what: string, job: Checked][] = [
    ["a reminder", main],
    ["a reminder of the default agent", { ...main, agentId: "Main" }],
    ["a reminder that posts", { ...main, delivery: { mode: "webhook", to: "https://example.com/x" } }],
    [
      "a reminder that posts to a webhook, with a failure destination",
      { ...main, delivery: { mode: "webhook", to: "http://example.com", failureDestination: { channel: "irc" } } },
    ],
    ["a turn that announces", { ...isolated, ...announce("-100:topic:5") }],
    ["a slash in the address of another messenger", { ...isolated, ...announce("-100/5", "irc") }],
    ["a recipient that is a URL without a webhook", { ...isolated, ...announce("https://t.me/x/5") }],
    [
      "a recipient that stays while nothing is delivered",
      { ...isolated, delivery: { mode: "none", channel: "telegram", to: "1/2" } },
    ],
    ["an alert to a webhook that is named elsewhere", { ...isolated, failureAlert: { mode: "webhook" } }],
  ];
  for (const [what, job] of fine) it(`accepts ${what}`, () => checkJob(job, context));

  const refused: [what: string, job: Checked, why: RegExp][] = [
    ["a turn in the main session", { ...isolated, sessionTarget: "main" }, /"systemEvent"/],
    ["an isolated reminder", { ...main, sessionTarget: "isolated" }, /"agentTurn"/],
    ["a reminder of another agent", { ...main, agentId: "other" }, /default agent "main", not to "other"/],
    ["a reminder that announces", { ...main, ...announce("1") }, /"announce" is for isolated jobs/],
    ["a webhook to nowhere", { ...main, delivery: { mode: "webhook" } }, /delivery\.to of a webhook/],
    ["a webhook to a file", { ...isolated, ...post("file:///etc/passwd") }, /http:\/\/ or https:\/\//],
    [
      "a failure destination of a reminder that does not post",
      { ...main, delivery: { mode: "none", failureDestination: { channel: "irc" } } },
      /failureDestination/,
    ],
    [
      "a failure destination that is not a URL",
      { ...isolated, ...fail("x") },
      /delivery\.failureDestination\.to of a webhook/,
    ],
    ["an alert that is not a URL", { ...isolated, ...alert("x") }, /failureAlert\.to of a webhook/],
    ...[post, fail, alert].flatMap((target) =>
      ["https://user:pw@h.example/x", "https://user@h.example/x", "http://:pw@h.example"].map(
        (to): [string, Checked, RegExp] => [
          `${to} as ${target.name}`,
          { ...isolated, ...target(to) },
          /^(?!.*pw@).*\.to may have no user name or password; .*set cron\.webhookToken/,
        ],
      ),
    ),
    [
      "a level of thinking that does not exist",
      { ...isolated, payload: { kind: "agentTurn", message: "look", thinking: "wild" } },
      /thinking "wild" is no level; see models\.list/,
    ],
    [
      "a topic with a slash",
      { ...isolated, ...announce(" -100/5 ", "Telegram") },
      /"-100\/5" names a topic with a slash; write it as -100:topic:5/,
    ],
    [
      "an alert to a topic with a slash",
      { ...isolated, failureAlert: { channel: "telegram", to: "7/5" } },
      /7:topic:5/,
    ],
  ];
  for (const [what, job, message] of refused) {
    it(`refuses ${what}`, () => {
      assert.throws(() => checkJob(job, context), { name: "GatewayError", code: "UNAVAILABLE", message });
      assert.throws(() => checkJob(job, context), { message: /^Error: / });
    });
  }

  it("does not repeat the URL of a webhook", () => {
    const job: Checked = { ...isolated, ...post("ftp://user:secret@example.com") };
    assert.throws(
      () => checkJob(job, context),
      (error: Error) => !error.message.includes("secret"),
    );
  });

  it("passes on the error of an invalid schedule", () => {
    const wrong = new RangeError("no such zone");
    const checkSchedule = () => {
      throw wrong;
    };
    assert.throws(() => checkJob(main, { ...context, checkSchedule }), wrong);
  });
});

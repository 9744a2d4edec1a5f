/** `svc hooks ...`: shows, tries, switches and replays the webhooks of a running gateway. */
import { invalidRequest, notFound } from "@svc/sdk";
import { askingWith, type CommandContext, defineCommands, show, visible } from "@svc/sdk/cli";
import { webhooks } from "@svc/sdk/webhooks";
import { choiceOption, countOption, readHeaders, readPayload, textOption } from "./cli-input.ts";
import { checkLines, infoLines, listLines, oneRunLines, runLines } from "./cli-report.ts";
import { isAccepted, trialLines } from "./cli-trial.ts";

const READ = ["operator.read"];
const WRITE = ["operator.write"];
const ADMIN = ["operator.admin"];
const ask = askingWith({ plugin: "webhooks", step: "svc hooks list" });

const STATUSES = ["queued", "running", "done", "failed"] as const;
/** Most runs one call may request. */
const MOST_RUNS = 1_000;

export default defineCommands([
  {
    name: "hooks list",
    summary: "List webhook paths and mappings, in the order they are tried",
    examples: ["svc hooks list", "svc hooks list --json"],
    async run(context) {
      show(context, await ask(context, READ, (client) => client.call(webhooks.list, {})), listLines);
    },
  },
  {
    name: "hooks info",
    summary: "Show a mapping: its match, its action and its problems",
    args: "<id>",
    examples: ["svc hooks info build"],
    async run(context) {
      const [id = ""] = context.args;
      const { mappings } = await ask(context, READ, (client) => client.call(webhooks.list, {}));
      const [mapping, ...others] = mappings.filter((one) => one.id === id);
      if (!mapping) {
        const ids = [...new Set(mappings.map((one) => one.id))].join(", ");
        return notFound(
          `no mapping "${id}"; ${ids === "" ? "none is configured" : `configured: ${ids}`}\nNext: svc hooks list`,
        );
      }
      if (others.length === 0) return show(context, mapping, infoLines);
      // The mappings of a preset may share its id.
      show(context, [mapping, ...others], (all) =>
        all.flatMap((one, index) => [...(index > 0 ? [""] : []), ...infoLines(one)]),
      );
    },
  },
  {
    name: "hooks check",
    summary: "Check the webhooks and transforms",
    examples: ["svc hooks check", "svc hooks check --json"],
    async run(context) {
      const report = await ask(context, READ, async (client) => {
        const { enabled } = await client.call(webhooks.list, {});
        return { enabled, ...(await client.call(webhooks.check, {})) };
      });
      show(context, report, checkLines);
      return report.ok ? 0 : 1;
    },
  },
  {
    name: "hooks try",
    summary: "Show what a request would trigger, without running it",
    args: "<mapping>",
    options: [
      { flags: "--payload <file>", description: "request body in JSON; - reads standard input" },
      { flags: "--header <line>", description: 'header of the request, like "X-Event: build"', repeatable: true },
      { flags: "--path <path>", description: "path below the base, with query; default: the path of the mapping" },
    ],
    examples: [
      "svc hooks try build --payload failed.json",
      'svc hooks try github --payload push.json --header "X-GitHub-Event: push" --path "github?branch=main"',
      'echo \'{"text":"hi"}\' | svc hooks try wake --payload -',
    ],
    async run(context) {
      const [mapping = ""] = context.args;
      const [payload, headers] = [await readPayload(context), readHeaders(context.options)];
      const path = textOption(context.options, "path");
      const trial = await ask(context, WRITE, (client) =>
        client.call(webhooks.try, { mapping, payload, headers, ...(path !== undefined && { path }) }),
      );
      show(context, trial, trialLines);
      return isAccepted(trial) ? 0 : 1;
    },
  },
  {
    name: "hooks runs",
    summary: "List accepted webhooks and their outcomes, or show one",
    args: "[runId]",
    options: [
      { flags: "--status <status>", description: `only runs with this status: ${STATUSES.join(", ")}` },
      { flags: "--mapping <id>", description: "only runs of this mapping" },
      { flags: "--limit <n>", description: `number of runs to show, at most ${MOST_RUNS}; default 50` },
    ],
    examples: ["svc hooks runs", "svc hooks runs --status failed --mapping build", "svc hooks runs <runId>"],
    run: (context) => (context.args[0] === undefined ? listRuns(context) : showRun(context, context.args[0])),
  },
  {
    name: "hooks replay",
    summary: "Run a failed webhook again",
    args: "<runId>",
    examples: ["svc hooks runs --status failed", "svc hooks replay <runId>"],
    async run(context) {
      const [runId = ""] = context.args;
      const answer = await ask(context, ADMIN, (client) => client.call(webhooks.replay, { runId }), "svc hooks runs");
      show(context, answer, ({ run }) => [
        visible(`${runId} was accepted again as ${run.runId}`),
        visible(`Next: svc hooks runs ${run.runId}`),
      ]);
    },
  },
  {
    name: "hooks enable",
    summary: "Enable a mapping or a direct path",
    args: "<id>",
    examples: ["svc hooks enable build"],
    run: (context) => turn(context, webhooks.enable, "enabled"),
  },
  {
    name: "hooks disable",
    summary: "Disable a mapping or a direct path",
    args: "<id>",
    examples: ["svc hooks disable build"],
    run: (context) => turn(context, webhooks.disable, "disabled"),
  },
  {
    name: "hooks init",
    summary: "Create the transforms directory, with types for an editor",
    examples: ["svc hooks init"],
    async run(context) {
      const answer = await ask(context, ADMIN, (client) => client.call(webhooks.init, {}));
      show(context, answer, ({ directory, written }) => [
        ...(written.length === 0 ? ["all files exist already"] : written.map((file) => visible(`wrote ${file}`))),
        visible(`put transforms into ${directory}`),
      ]);
    },
  },
]);

async function listRuns(context: CommandContext): Promise<void> {
  const status = choiceOption(context.options, "status", STATUSES);
  const mapping = textOption(context.options, "mapping");
  const limit = countOption(context.options, "limit", MOST_RUNS);
  const filter = { ...(status && { status }), ...(mapping !== undefined && { mapping }) };
  const answer = await ask(context, READ, (client) =>
    client.call(webhooks.runs, { ...filter, ...(limit !== undefined && { limit }) }),
  );
  show(context, answer, ({ runs }) => runLines(runs, Object.keys(filter).length > 0));
}

async function showRun(context: CommandContext, runId: string): Promise<void> {
  if (["status", "mapping", "limit"].some((name) => context.options[name] !== undefined)) {
    invalidRequest("a run id selects one run; remove the other options, or remove the run id to list several runs");
  }
  const answer = await ask(context, READ, (client) => client.call(webhooks.run, { runId }), "svc hooks runs");
  show(context, answer, ({ run }) => oneRunLines(run));
}

async function turn(
  context: CommandContext,
  method: typeof webhooks.enable | typeof webhooks.disable,
  done: string,
): Promise<void> {
  const [id = ""] = context.args;
  const answer = await ask(context, ADMIN, (client) => client.call(method, { id }));
  show(context, answer, ({ changed }) => [
    visible(changed ? `${done} ${id}` : `${id} is already ${done}; nothing was written`),
  ]);
}

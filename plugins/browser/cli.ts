/** `svc browser ...`: the browser of the gateway, for people. */
import { unavailable } from "@svc/sdk";
import {
  askingWith,
  type Command,
  type CommandContext,
  defineCommands,
  show,
  table,
  visible,
  visibleLines,
} from "@svc/sdk/cli";
import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";

const asking = askingWith({ plugin: "browser", step: "svc browser status" });
const WRITE = ["operator.write"];
const profile = { flags: "--profile <name>", description: "profile of the browser; default: browser.defaultProfile" };
const tab = { flags: "--tab <id>", description: "tab, as listed by svc browser tabs; default: the current one" };

interface Call {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  readonly keys?: Readonly<Record<string, unknown>>;
}

type Answer = Readonly<Record<string, unknown>>;

function request(context: CommandContext, { method, path, keys = {} }: Call): Promise<Answer> {
  const { profile: name, tab: targetId } = context.options;
  const given = { ...keys, ...(name ? { profile: name } : {}), ...(targetId ? { targetId } : {}) };
  const params = { method, path, ...(method === "POST" ? { body: given } : { query: given }) };
  return asking(context, WRITE, (client) => client.request("browser.request", params) as Promise<Answer>);
}

/** A verb that calls one route and prints its facts. */
function verb(name: string, summary: string, call: Call, lines: (answer: Answer) => readonly string[]): Command {
  return {
    name: `browser ${name}`,
    summary,
    options: [profile],
    examples: [`svc browser ${name}`],
    async run(context) {
      show(context, await request(context, call), lines);
    },
  };
}

function factLines(answer: Answer): string[] {
  const facts = Object.entries(answer).filter(([key]) => key !== "ok");
  return table(facts.map(([key, value]) => [key, visible(typeof value === "string" ? value : JSON.stringify(value))]));
}

function tabLines({ running, tabs }: Answer): string[] {
  const rows = (Array.isArray(tabs) ? tabs : []).map((one) => {
    const { targetId, url, active, crashed } = Object(one) as Answer;
    return [String(targetId), crashed ? "crashed" : active ? "current" : "", visible(String(url))];
  });
  if (rows.length > 0) return table(rows);
  return [running ? "No tabs are open." : "No browser runs; svc browser open <url> starts it."];
}

export default defineCommands([
  verb("status", "Show whether a browser runs, and its settings", { method: "GET", path: "/" }, factLines),
  verb("start", "Start the browser", { method: "POST", path: "/start" }, factLines),
  verb("stop", "Stop the browser", { method: "POST", path: "/stop" }, ({ stopped }) => [
    stopped ? "The browser is stopped." : "No browser was running.",
  ]),
  verb("tabs", "List the open tabs", { method: "GET", path: "/tabs" }, tabLines),
  {
    name: "browser open",
    summary: "Open an address in a new tab",
    args: "<url>",
    options: [profile],
    examples: ["svc browser open https://example.com"],
    async run(context) {
      const [url] = context.args;
      show(context, await request(context, { method: "POST", path: "/tabs/open", keys: { url } }), factLines);
    },
  },
  {
    name: "browser snapshot",
    summary: "Print a tab as text with references",
    options: [profile, tab, { flags: "--interactive", description: "only elements that can be used" }],
    examples: ["svc browser snapshot --interactive"],
    async run(context) {
      const keys = context.options["interactive"] === true ? { interactive: true } : {};
      const answer = await request(context, { method: "GET", path: "/snapshot", keys });
      show(context, answer, ({ title, url, snapshot, truncated }) => [
        `${visible(String(title))} (${visible(String(url))})`,
        visibleLines(String(snapshot)),
        ...(truncated ? ["The text was cut."] : []),
      ]);
    },
  },
  {
    name: "browser screenshot",
    summary: "Take a picture of a tab",
    options: [
      profile,
      tab,
      { flags: "--full-page", description: "the whole page" },
      { flags: "--out <file>", description: "write it here; default: it stays on the gateway's machine" },
    ],
    examples: ["svc browser screenshot --out page.png"],
    async run(context) {
      const { out, fullPage } = context.options;
      const keys = { ...(fullPage === true ? { fullPage } : {}), ...(out === undefined ? {} : { inline: true }) };
      const { base64, ...answer } = await request(context, { method: "POST", path: "/screenshot", keys });
      if (typeof out !== "string") return show(context, answer, factLines);
      if (typeof base64 !== "string")
        unavailable(`the picture is at ${String(answer["path"])} on the machine of the browser`);
      await writeFile(resolve(out), Buffer.from(base64, "base64"));
      return show(context, { ...answer, path: resolve(out) }, factLines);
    },
  },
]);

/** `/restart` and `/config`: the gateway itself, for its owner. */
import { invalidRequest } from "@svc/sdk";
import { parseSetting, type SettingPath, settingPlace, settingText, valueAt } from "@svc/sdk/cli";
import type { ChatCommandCall } from "@svc/sdk/commands";
import type { ConfigStore, ConfigWritten } from "@svc/sdk/config";
import { alone, answering, type CommandSources, type CommandTable, need } from "./sources.ts";

/** Choice: characters of a value that are shown. */
const MAX_SHOWN = 3_000;

/** Verb, path and value; keys in quotes may have spaces. */
const CONFIG = /^(\S+)(?:\s+((?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s"'])+))?(?:\s+([^]+))?$/;

export function gatewayCommands(sources: CommandSources): CommandTable {
  return {
    restart: {
      summary: "restart the gateway",
      scope: "operator.admin",
      ...alone((call) => restart(sources, call)),
    },
    config: {
      summary: "show or change a setting of the gateway",
      usage: "get [path] | set <path> <value> | unset <path>",
      scope: "operator.admin",
      ...answering((call) => config(need(sources.config, "config", call), call)),
    },
  };
}

/** Choice: the session remembers the message, so that a repetition after the restart does not restart again. */
async function restart(sources: CommandSources, call: ChatCommandCall): Promise<string> {
  const { runId, sessionKey, principal } = call;
  const restarts = sources.restarts.get();
  if (!restarts?.possible) return "This gateway cannot restart itself here; on its machine, run: svc gateway restart";
  const sessions = need(sources.sessions, "sessions", call);
  if ((await sessions.get(sessionKey))?.["restartedByRunId"] === runId) return "The gateway has restarted.";
  await sessions.ensure(sessionKey, { restartedByRunId: runId });
  const { delayMs } = restarts.schedule({ reason: `chat command of ${principal.id}` });
  return `The gateway restarts in ${Math.ceil(delayMs / 1_000)} s, after the replies in progress.`;
}

async function config(store: ConfigStore, call: ChatCommandCall): Promise<string> {
  const [, verb = "", pathText = "", valueText] = CONFIG.exec(call.text) ?? [];
  const word = verb.toLowerCase();
  const hasValue = valueText !== undefined;
  if (word === "get" && !hasValue) return shownSetting(store, pathText === "" ? [] : parseSetting(pathText));
  if (pathText === "" || (word === "set") !== hasValue || (word !== "set" && word !== "unset"))
    return invalidRequest("write /config get [path], /config set <path> <value> or /config unset <path>");
  const path = parseSetting(pathText);
  const value = valueText === undefined ? undefined : parseValue(valueText);
  const author = { actor: call.principal.id, action: `chat command /config ${word}` };
  const written = await store.edit(author, (parsed) => [{ path: settingPlace(parsed, path), value }]);
  return writtenText(written, path);
}

/** JSON, else the text itself. @throws GatewayError `INVALID_REQUEST` for a text that begins like JSON and is none */
function parseValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    if (/^\s*[{["]/.test(text)) return invalidRequest("the value is not JSON; correct it, or write a plain word");
    return text;
  }
}

/** Secrets are redacted by the store. */
async function shownSetting(store: ConfigStore, path: SettingPath): Promise<string> {
  const { config: all, valid, issues } = await store.snapshot();
  const [issue] = issues;
  if (!valid && issue) return `The configuration file is not valid: ${issue.path}: ${issue.message}`;
  if (path.length === 0)
    return `Settings: ${Object.keys(Object(all) as object).join(", ")}. /config get <path> shows one.`;
  return settingLine(all, path);
}

function writtenText({ config: all, changed, reload }: ConfigWritten, path: SettingPath): string {
  const now = `${settingLine(all, path)}.`;
  if (changed.length === 0) return `${now} Nothing has changed.`;
  return reload === "restart" ? `${now} It takes effect after a restart: /restart` : `${now} It is in effect.`;
}

function settingLine(all: unknown, path: SettingPath): string {
  const place = settingPlace(all, path);
  const value = valueAt(all, place);
  return `${settingText(place)}: ${value === undefined ? "not set" : shown(value)}`;
}

function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}... (${text.length} characters)` : text;
}

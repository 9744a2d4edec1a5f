/** Security checks of channels: who can write to an agent. By convention the keys are below `channels.<id>` and its accounts. */
import {
  configAt,
  defineSecurityChecks,
  entriesOf,
  type SecurityHit,
  type SecurityView,
  setCommand,
  type SettingPath,
  textsOf,
} from "@svc/sdk/cli";
import { EVERYBODY } from "./access/admission.ts";

type Section = Readonly<Record<string, unknown>>;

export default defineSecurityChecks([
  {
    id: "channels.open",
    severity: "warning",
    why: "Unknown senders can use the agent, at your cost.",
    find: ({ config }) => {
      const { dmScope = "main" } = Object(configAt(config, "session")) as Section;
      return eachAccount(config, ([path, section]) => {
        const allowed = textsOf(section["allowFrom"]);
        if (!allowed.includes(EVERYBODY)) return [];
        const named = allowed.filter((id) => id !== EVERYBODY);
        return [
          {
            about: [...path, "allowFrom"].join("."),
            message: `Anyone may write${dmScope === "main" ? ", and all people share one session with its history" : ""}.`,
            fix: setCommand([...path, "allowFrom"], named),
            ...(dmScope === "main" ? { severity: "critical" as const } : {}),
          },
        ];
      });
    },
  },
  {
    id: "channels.every-word",
    severity: "warning",
    why: "Every message of anyone in the group reaches the agent as a request.",
    find: ({ config }) =>
      eachAccount(config, ([path, section]) => {
        const groups = Array.isArray(section["groups"]) ? [] : entriesOf(section["groups"]);
        const all = [
          [path, section, isEveryGroup(section) ? "In every group" : "In groups"] as const,
          ...groups.map(
            ([id, group]) =>
              [[...path, "groups", id], group, id === EVERYBODY ? "In every group" : `In the group ${id}`] as const,
          ),
        ];
        return all.flatMap(([at, { requireMention }, where]) =>
          requireMention === false
            ? [
                {
                  about: [...at, "requireMention"].join("."),
                  message: `${where} the agent also reads messages that do not mention it.`,
                  fix: setCommand([...at, "requireMention"], true),
                },
              ]
            : [],
        );
      }),
  },
]);

/** Groups are a list or a map, depending on the channel. */
function isEveryGroup({ groupPolicy, groups }: Section): boolean {
  return groupPolicy === "open" || textsOf(groups).includes(EVERYBODY) || Object.hasOwn(Object(groups), EVERYBODY);
}

/** `channels.<id>` and `channels.<id>.accounts.<name>`, without disabled ones. */
function eachAccount(
  config: SecurityView["config"],
  find: (account: readonly [path: SettingPath, section: Section]) => readonly SecurityHit[],
): readonly SecurityHit[] {
  return entriesOf(configAt(config, "channels"))
    .flatMap(([id, channel]) => {
      const own = ["channels", id] as const;
      const { accounts } = channel;
      const keyOf = (name: string) => (Array.isArray(accounts) ? Number(name) : name);
      const below = entriesOf(accounts).map(([name, account]) => [[...own, "accounts", keyOf(name)], account] as const);
      return [[own, channel] as const, ...below];
    })
    .filter(([, { enabled }]) => enabled !== false)
    .flatMap(find);
}

/** Security checks of the fields that webhook senders may set. No findings while webhooks are off. Pure. */
import {
  configAt,
  defineSecurityChecks,
  entriesOf,
  type SecurityHit,
  type SecurityView,
  setCommand,
  settingText,
  textsOf,
  unsetCommand,
} from "@svc/sdk/cli";

const whileOn = (find: (view: SecurityView) => readonly SecurityHit[]) => (view: SecurityView) =>
  configAt(view.config, "hooks.enabled") === true ? find(view) : [];

export default defineSecurityChecks([
  {
    id: "webhook-agent.any-session",
    severity: "critical",
    why: "A sender can write into any conversation, including your own.",
    find: whileOn(({ config }) =>
      configAt(config, "hooks.allowRequestSessionKey") !== true ||
      textsOf(configAt(config, "hooks.allowedSessionKeyPrefixes")).some((prefix) => prefix !== "")
        ? []
        : [
            {
              about: "hooks.allowedSessionKeyPrefixes",
              message: "Senders choose the session, and its key may have any prefix.",
              fix: setCommand(["hooks", "allowedSessionKeyPrefixes"], ["hook:"]),
            },
          ],
    ),
  },
  {
    id: "webhook-agent.any-agent",
    severity: "warning",
    why: "A sender can pick the agent with the most rights.",
    find: whileOn(({ config }) => {
      const listed = configAt(config, "hooks.allowedAgentIds");
      if (Array.isArray(listed) && !textsOf(listed).includes("*")) return [];
      return [
        {
          about: "hooks.allowedAgentIds",
          message: "Senders may request any agent.",
          fix: setCommand(["hooks", "allowedAgentIds"], ["main"]),
        },
      ];
    }),
  },
  {
    id: "webhook-agent.unmarked-content",
    severity: "critical",
    why: "The model cannot distinguish text of third parties from yours.",
    find: whileOn(({ config }) => {
      const mappings = entriesOf(configAt(config, "hooks.mappings")).map(
        ([at, mapping]) => [["hooks", "mappings", Number(at)], mapping] as const,
      );
      const presets = entriesOf(configAt(config, "hooks")).map(([key, section]) => [["hooks", key], section] as const);
      return [...mappings, ...presets]
        .filter(([, section]) => section["allowUnsafeExternalContent"] === true)
        .map(([path]) => ({
          about: settingText(path),
          message: "Posted content is passed to the model without markers.",
          fix: unsetCommand([...path, "allowUnsafeExternalContent"]),
        }));
    }),
  },
]);

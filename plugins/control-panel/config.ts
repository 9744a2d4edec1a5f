/** Section `ui`: how the control panel and other clients look. Spec: http/control-panel.md §1. */
import { type Static, Strict, Type } from "@svc/sdk";

const Assistant = Strict(
  {
    name: Type.Optional(
      Type.String({ maxLength: 50, description: "name shown instead of the default agent's", reload: "hot" }),
    ),
    avatar: Type.Optional(
      Type.String({
        maxLength: 200,
        description:
          "picture shown instead of the default agent's: an emoji, up to 4 characters, a URL, a data URL, or a path in its workspace",
        reload: "hot",
      }),
    ),
  },
  { description: "Identity that the control panel shows" },
);

export const UiConfig = Strict(
  {
    assistant: Type.Optional(Assistant),
    seamColor: Type.Optional(
      Type.String({
        pattern: "^#?[0-9a-fA-F]{6}$",
        description: "accent colour of clients, as 6 hexadecimal digits",
        reload: "hot",
      }),
    ),
  },
  { title: "Clients", description: "How the control panel and other clients look" },
);
export type UiConfig = Static<typeof UiConfig>;

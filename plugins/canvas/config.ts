/** The section `canvasHost`. Spec: http/config-keys.md. */
import { type Static, Strict, Type } from "@svc/sdk";

export const CanvasConfig = Strict(
  {
    enabled: Type.Boolean({ default: true, description: "false: no pages are served", reload: "hot" }),
    root: Type.Optional(
      Type.String({
        pattern: "^(?:/|~/|[A-Za-z]:[\\\\/]).*",
        description:
          "absolute directory of the pages, ~/ for the home directory; default: canvas in the state directory",
        reload: "hot",
      }),
    ),
    liveReload: Type.Boolean({
      default: true,
      description: "false: open pages are not reloaded when a file changes",
      reload: "hot",
    }),
  },
  { title: "Canvas", description: "Pages that nodes display" },
);
export type CanvasConfig = Static<typeof CanvasConfig>;

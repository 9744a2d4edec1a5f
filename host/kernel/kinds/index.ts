/** All built-in kinds of declaration, in the order they take effect. */
import type { AnyKind } from "../kind.ts";
import { busy } from "./busy.ts";
import { commands } from "./commands.ts";
import { configHandlers } from "./config-handlers.ts";
import { contributions } from "./contributions.ts";
import { emits } from "./emits.ts";
import { events } from "./events.ts";
import { hooks } from "./hooks.ts";
import { methods } from "./methods.ts";
import { points } from "./points.ts";
import { requires } from "./requires.ts";
import { routes } from "./routes.ts";
import { sections } from "./sections.ts";
import { services } from "./services.ts";
import { starts } from "./starts.ts";
import { stops } from "./stops.ts";
import { timers } from "./timers.ts";

export const KINDS: readonly AnyKind[] = [
  services,
  points,
  emits,
  hooks,
  events,
  methods,
  routes,
  contributions,
  stops,
  starts,
  timers,
  configHandlers,
  busy,
  requires,
  sections,
  commands,
];

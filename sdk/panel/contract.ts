/** The namespace `panel`: what plugins add to the control panel. Choice: not part of the protocol that existing clients speak. */
import { defineContract } from "../contract.ts";
import { type Static, Strict, Type } from "../schema.ts";
import { CardContent } from "./service.ts";

/** A page that a plugin adds. */
export const PanelPageEntry = Type.Object({
  id: Type.String(),
  plugin: Type.String(),
  title: Type.String(),
  icon: Type.Optional(Type.String()),
  path: Type.String({ description: "path of its first file on the gateway's port, e.g. `/__svc/pages/greet/`" }),
  methods: Type.Array(Type.String(), {
    description: "methods that the page may call: those it lists that its plugin serves",
  }),
  events: Type.Array(Type.String(), { description: "events that the page receives" }),
  refused: Type.Array(Type.String(), {
    description: "methods and events that the page lists and its plugin does not have",
  }),
});
export type PanelPageEntry = Static<typeof PanelPageEntry>;

/** A card that a plugin adds, with its current content or the reason why there is none. */
export const PanelCardEntry = Type.Object({
  id: Type.String(),
  plugin: Type.String(),
  title: Type.String(),
  content: Type.Optional(CardContent),
  error: Type.Optional(Type.String()),
});
export type PanelCardEntry = Static<typeof PanelCardEntry>;

/** Additions of plugins to the control panel. */
export const panel = defineContract("panel", {
  pages: {
    name: "panel.pages",
    summary: "The pages that plugins add to the control panel",
    scope: "operator.read",
    params: Strict({}),
    result: Type.Object({ pages: Type.Array(PanelPageEntry) }),
  },
  cards: {
    name: "panel.cards",
    summary: "The cards that plugins add to the overview of the control panel, with their content",
    scope: "operator.read",
    params: Strict({}),
    result: Type.Object({ cards: Type.Array(PanelCardEntry) }),
  },
});

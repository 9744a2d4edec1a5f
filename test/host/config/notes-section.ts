/** The section of a plugin, for tests of the configuration store. */
import { Strict, Type } from "@svc/sdk";
import type { SectionOwner } from "../../../host/config/sections.ts";

export const notes: SectionOwner = {
  section: "notes",
  plugin: "notes",
  schema: Strict({
    max: Type.Integer({ default: 100, reload: "hot" }),
    name: Type.Optional(Type.String()),
    pin: Type.Optional(Type.String({ sensitive: true })),
    list: Type.Optional(Type.Array(Type.Object({ id: Type.String(), token: Type.Optional(Type.String()) }))),
    extra: Type.Optional(Type.Object({}, { additionalProperties: true })),
  }),
};

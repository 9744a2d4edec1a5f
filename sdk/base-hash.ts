/** The param of writes that replace a file only if nobody changed it since it was read. */
import { Type } from "./schema.ts";

export const BaseHash = Type.Optional(
  Type.String({
    minLength: 1,
    description:
      "`hash` of the content it replaces, of the empty string if there was no file; another one is a CONFLICT; absent: not checked",
  }),
);

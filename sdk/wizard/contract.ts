/** Wizard namespace. Spec: §4.1 row "Wizard"; protocol/methods-wizard.md. */
import { defineContract } from "../contract.ts";
import { NonEmpty, type Static, Strict, Type } from "../schema.ts";

const text = Type.Optional(Type.String());

/** `cancelled` and `error` are final, as is `done`. */
export const WizardStatus = Type.Enum(["running", "done", "cancelled", "error"]);

/** One question, or a text to read. */
export const WizardStep = Type.Object({
  id: Type.String({ description: "new for each step" }),
  type: Type.Enum(["note", "select", "text", "confirm", "multiselect"]),
  title: text,
  message: text,
  placeholder: text,
  options: Type.Optional(Type.Array(Type.Object({ value: Type.Unknown(), label: NonEmpty, hint: text }))),
  initialValue: Type.Optional(Type.Unknown({ description: "an array for `multiselect`" })),
  sensitive: Type.Optional(Type.Boolean({ description: "the answer must not be shown" })),
  executor: Type.Literal("client"),
});
export type WizardStep = Static<typeof WizardStep>;

const Outcome = { status: WizardStatus, error: text };
const Progress = Type.Object({
  done: Type.Boolean(),
  step: Type.Optional(WizardStep),
  ...Outcome,
});
const session = { sessionId: NonEmpty };

/** Guided setup: one session at a time. */
export const wizard = defineContract("wizard", {
  start: {
    summary: "Start the guided setup; responds with the first step",
    scope: "operator.admin",
    params: Strict({
      mode: Type.Optional(Type.Enum(["local", "remote"], { description: "default local" })),
      workspace: Type.Optional(Type.String({ description: "workspace directory of the default agent" })),
    }),
    result: Type.Object({ sessionId: Type.String(), ...Progress.properties }),
  },
  next: {
    summary: "Answer the current step; responds with the next one. Without an answer: the current step again",
    scope: "operator.admin",
    params: Strict({
      ...session,
      answer: Type.Optional(Strict({ stepId: NonEmpty, value: Type.Optional(Type.Unknown()) })),
    }),
    result: Progress,
  },
  cancel: {
    summary: "Cancel the guided setup. Answers given so far keep their effect",
    scope: "operator.admin",
    params: Strict(session),
    result: Type.Object(Outcome),
  },
  status: {
    summary: "Get the state of the guided setup",
    scope: "operator.admin",
    params: Strict(session),
    result: Type.Object(Outcome),
  },
});

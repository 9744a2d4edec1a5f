/** Chooses the model for pictures and documents. Pure. */
import { unavailable } from "@svc/sdk";
import type { Models, ResolvedModel } from "@svc/sdk/models";

/** Constraints on the model. */
export interface ModelWish {
  /** `tools.media.model` */
  readonly configured: string | undefined;
  /** Model of the call. */
  readonly asked: string | undefined;
  /** Whether the call contains pictures. */
  readonly withImages: boolean;
}

type Catalogue = Pick<Models, "list" | "resolve">;

/** A model without declared `input` is assumed to accept images. */
const takesImages = ({ input }: { readonly input?: readonly string[] }) => input?.includes("image") ?? true;
const refOf = ({ provider, id }: { readonly provider: string; readonly id: string }) => `${provider}/${id}`;

/**
 * The configured model, else the model of the call, else the default model if it is suitable, else the first suitable
 * model. Choice: the configuration takes precedence, so that the author of a prompt does not choose the cost.
 * @throws GatewayError `UNAVAILABLE` naming the key if no model accepts images; errors of `Models.resolve`
 */
export function chooseModel(models: Catalogue, wish: ModelWish): ResolvedModel {
  const ref = wish.configured ?? wish.asked;
  const model = models.resolve(ref);
  if (!wish.withImages || takesImages(model)) return model;
  if (ref !== undefined) unavailable(`the model ${refOf(model)} does not accept images; ${ADVICE}`);
  return firstThatSees(models) ?? unavailable(`no configured model accepts images; ${ADD_MODEL}`);
}

/** Whether `chooseModel` finds a model for images. */
export function canSee(models: Catalogue, { configured, asked }: Omit<ModelWish, "withImages">): boolean {
  const ref = configured ?? asked;
  return takesImages(models.resolve(ref)) || (ref === undefined && firstThatSees(models) !== undefined);
}

function firstThatSees(models: Catalogue): ResolvedModel | undefined {
  const first = models.list().find(({ input }) => input?.includes("image"));
  return first && models.resolve(refOf(first));
}

const ADVICE = 'set tools.media.model to a model with "image" in its `input` (models.providers.<name>.models)';
const ADD_MODEL = 'add a model with "image" in its `input` to models.providers.<name>.models';

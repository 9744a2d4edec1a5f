/** Chooses the model for pictures and documents. Pure. */
import { isGatewayError, unavailable } from "@svc/sdk";
import type { Models, ResolvedModel } from "@svc/sdk/models";

/** Constraints on the model. */
export interface ModelWish {
  /** `tools.media.model` */
  readonly configured: string | undefined;
  /** Model of the call. */
  readonly asked: string | undefined;
  /** References of `agents.defaults.imageModel` or `pdfModel`, in order. Default: none. */
  readonly preferred?: readonly string[];
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

/**
 * The models to try in order: the one of `chooseModel` if a reference is given, else the preferred ones that exist and are
 * suitable, else that of `chooseModel`.
 * @throws as `chooseModel`
 */
export function chooseModels(models: Catalogue, wish: ModelWish): readonly ResolvedModel[] {
  const { preferred = [], withImages } = wish;
  if ((wish.configured ?? wish.asked) !== undefined) return [chooseModel(models, wish)];
  const suitable = preferred.flatMap((ref) => resolved(models, ref)).filter((one) => !withImages || takesImages(one));
  return suitable.length > 0 ? suitable : [chooseModel(models, wish)];
}

function resolved(models: Catalogue, ref: string): readonly ResolvedModel[] {
  try {
    return [models.resolve(ref)];
  } catch (error) {
    if (isGatewayError(error) && error.code === "NOT_FOUND") return []; // `svc doctor` names it
    throw error;
  }
}

/** Whether `chooseModel` finds a model for images. */
export function canSee(
  models: Catalogue,
  { configured, asked, preferred = [] }: Omit<ModelWish, "withImages">,
): boolean {
  const ref = configured ?? asked;
  if (takesImages(models.resolve(ref))) return true;
  if (ref !== undefined) return false;
  return preferred.flatMap((one) => resolved(models, one)).some(takesImages) || firstThatSees(models) !== undefined;
}

function firstThatSees(models: Catalogue): ResolvedModel | undefined {
  const first = models.list().find(({ input }) => input?.includes("image"));
  return first && models.resolve(refOf(first));
}

const ADVICE = 'set tools.media.model to a model with "image" in its `input` (models.providers.<name>.models)';
const ADD_MODEL = 'add a model with "image" in its `input` to models.providers.<name>.models';

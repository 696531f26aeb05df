/** The service's interface as the emitters read it: free of JSON Schema, and of every language. */

/** The type of a value. `object` is a JSON object with unknown names, `any` is any JSON value. */
export type Type =
  | { readonly kind: 'string' | 'integer' | 'number' | 'boolean' | 'any' | 'object' }
  /** `orOne`: a call takes a single value for a list of one. */
  | { readonly kind: 'list'; readonly of: Type; readonly orOne?: true }
  | { readonly kind: 'map'; readonly of: Type }
  | { readonly kind: 'model' | 'enum' | 'params'; readonly name: string }
  | { readonly kind: 'union'; readonly of: readonly Type[] };

export interface Field {
  /** As it is in JSON. */
  readonly name: string;
  readonly description: string;
  readonly type: Type;
  /** Always sent. An answer without it is not expected, and no reason to fail. */
  readonly required: boolean;
  readonly nullable: boolean;
}

/** A JSON object with a name: `models` are answers, `params` are what a call takes. */
export interface Shape {
  readonly name: string;
  readonly description: string;
  /** In the order of the document. */
  readonly fields: readonly Field[];
}

/** Known values of a text. The service may add others. */
export interface Enum {
  readonly name: string;
  readonly values: readonly string[];
}

export interface ErrorCode {
  readonly code: string;
  readonly status: number;
  readonly description: string;
}

/** A webhook event and the model of its `data`. */
export interface EventType {
  readonly type: string;
  readonly description: string;
  readonly model: string;
}

export interface ClientOperation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
}

export interface Api {
  /** The version of the package. */
  readonly version: string;
  readonly enums: readonly Enum[];
  /** Models before those that have fields of them. */
  readonly models: readonly Shape[];
  readonly params: readonly Shape[];
  readonly errors: readonly ErrorCode[];
  readonly events: readonly EventType[];
  readonly operations: readonly ClientOperation[];
}

/** A generated file: its path from `clients/`, and its text. */
export interface GeneratedFile {
  readonly path: string;
  readonly text: string;
}

/** Writes the models, parameters, enums and error codes of one language. */
export type Emitter = (api: Api) => readonly GeneratedFile[];

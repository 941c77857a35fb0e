(* Certificates by contributions, where the data are numbers that move and every row has a noise of
   its own: the moves are computed here, the costs that follow from them are added up by the verified
   checker. Other contributions are out of scope. *)
open Extracted
open Numbers

type symbol = Field of int | Noise of int
type noise = { gaussian : bool; scale : q }

let fields_of allowed json =
  List.iter (fun (key, _) -> need (List.mem key allowed) ("unknown key " ^ key)) (Json.members json)
let number_of json = let n = Json.integer json in need (n >= 0) "a negative number"; n

let column json =
  fields_of ["name"; "low"; "high"; "whole"] json;
  let finite key = match Json.get key json with Json.String ("inf" | "-inf") -> None | v -> Some (rational v) in
  (match Json.get "low" json, Json.get "high" json with
   | Json.String "inf", v | v, Json.String "-inf" when v <> Json.String "inf" && v <> Json.String "-inf" -> raise (Invalid "columns")
   | _ -> ());
  (match finite "low", finite "high" with Some a, Some b -> need (qle_bool a b) "columns" | _ -> ());
  ignore (Json.flag (Json.get "whole" json));
  Json.text (Json.get "name" json)

let symbol name length json = match Json.items json with
  | [Json.String "field"; Json.Null; _] -> raise (Invalid "which record is it of?")
  | [Json.String "field"; index; field] ->
    need (Json.text field = name) "an unknown field";
    let i = number_of index in need (i < length) "no such record"; Field i
  | [Json.String "noise"; k] -> Noise (number_of k)
  | Json.String _ :: _ -> raise (Unsupported "functions of the data")
  | _ -> raise (Invalid "terms")

let noise json =
  fields_of ["family"; "scale"; "most"] json;
  let scale = rational (Json.get "scale" json) in
  need (less zero scale) "noises: scale";
  if Json.get "most" json <> Json.Null then raise (Unsupported "noise that is drawn again");
  match Json.text (Json.get "family" json) with
  | "normal" -> { gaussian = true; scale }
  | "laplace" -> { gaussian = false; scale }
  | _ -> raise (Unsupported "noise of another kind in a stage")

(* A row: the slopes of the fields (by record) and the one noise that hides them, with its slope. *)
let row symbols json = match json with
  | Json.Object _ -> raise (Unsupported "choices")
  | _ ->
    let constant, terms = (match Json.items json with [c; t] -> (c, Json.items t) | _ -> raise (Invalid "form")) in
    let last = ref (-1) in
    let terms = List.map (fun t -> match Json.items t with
        | [place; slope] ->
          let s = Json.integer place and slope = rational slope in
          need (s > !last && s < Array.length symbols && not (is_zero slope)) "form";
          last := s; (symbols.(s), slope)
        | _ -> raise (Invalid "form")) terms in
    need (is_zero (rational constant)) "a row with a constant";
    (List.filter_map (function (Field i, c) -> Some (i, c) | _ -> None) terms,
     List.filter_map (function (Noise k, c) -> Some (k, c) | _ -> None) terms)

(* What each row moves, over the noise: for each of the moves that neighbours come down to. *)
let size q = if less q zero then qopp q else q
let moves adjacency length radius =
  match adjacency with
  | "l1" -> List.init length (fun i j -> if i = j then radius else zero)
  | "linf" | "monotone" -> [fun _ -> radius]
  | other -> raise (Unsupported ("adjacency " ^ other))
let largest = List.fold_left (fun m q -> if less m q then q else m) zero

(* The one stage of a way: whether it is Gaussian, and mu^2 or epsilon. *)
let way name length adjacency radius json =
  fields_of ["terms"; "noises"; "passes"; "rows"; "gates"] json;
  if Json.items (Json.get "passes" json) <> [] then raise (Unsupported "sums over records");
  if Json.items (Json.get "gates" json) <> [] then raise (Unsupported "thresholds");
  let symbols = Array.of_list (List.map (symbol name length) (Json.items (Json.get "terms" json))) in
  let noises = Array.of_list (List.map noise (Json.items (Json.get "noises" json))) in
  let rows = List.map (row symbols) (Json.items (Json.get "rows" json)) in
  let used = List.concat_map (fun (_, hidden) -> List.map fst hidden) rows in
  need (List.for_all (fun k -> k < Array.length noises) used) "an unknown noise";
  if List.length (List.sort_uniq compare used) <> List.length used then raise (Unsupported "a noise in two rows");
  let shown = List.filter (fun (fields, _) -> fields <> []) rows in
  let hidden = List.map (fun (fields, hidden) -> match hidden with
      | [(k, slope)] -> (fields, noises.(k), slope)
      | [] -> raise (Invalid "a private value is shown without noise")
      | _ -> raise (Unsupported "several noises in a row")) shown in
  let gaussian = List.exists (fun (_, n, _) -> n.gaussian) hidden in
  if List.exists (fun (_, n, _) -> n.gaussian <> gaussian) hidden then raise (Unsupported "both kinds of noise");
  let cost move =
    sum (List.map (fun (fields, n, slope) ->
        let moved = sum (List.map (fun (i, c) -> mul (size c) (move i)) fields) in
        let over = mul moved (qinv (mul (size slope) n.scale)) in
        if gaussian then mul over over else over) hidden) in
  (gaussian, largest (List.map cost (moves adjacency length radius)))

let accepted c =
  need (Json.get "unit" c = Json.Null) "unit";
  if Json.get "plan" c <> Json.Null then raise (Unsupported "composed laws of the privacy loss");
  if Json.find "rows_each" c <> None then raise (Unsupported "people with several rows");
  if not (Json.flag (Json.get "apart" c)) then raise (Unsupported "sums over records");
  let length = (match Json.get "length" c with
      | Json.String "any" -> raise (Invalid "apart: needs a length")
      | n -> let n = Json.integer n in need (n > 0) "length"; n) in
  let near = Json.get "adjacency" c in
  let radius = (match Json.get "radius" near with
      | Json.String "inf" -> raise (Invalid "radius")
      | r -> let r = rational r in need (less zero r) "radius"; r) in
  let name = (match Json.items (Json.get "columns" c) with
      | [one] -> column one
      | _ -> raise (Unsupported "records of several fields")) in
  let adjacency = Json.text (Json.get "name" near) in
  let ways = List.map (way name length adjacency radius) (Json.items (Json.get "ways" c)) in
  need (ways <> []) "ways: none";
  let bound = rational (Json.get "epsilon" c) and delta = rational (Json.get "delta" c) in
  need (qle_bool zero bound && qle_bool zero delta && qle_bool delta one) "a bound out of range";
  let costly = List.filter (fun (_, cost) -> not (is_zero cost)) ways in
  let gaussian = List.exists fst costly in
  if List.exists (fun (g, _) -> g <> gaussian) costly then raise (Unsupported "ways of both kinds of noise");
  let costs = List.map snd ways in
  let half = qinv (add one one) in
  match Json.text (Json.get "measure" c), gaussian with
  | "epsilon", false when is_zero delta -> check_costs (List.map (fun q -> [q]) costs) bound
  | "epsilon", false -> accepts_account (List.map (fun q -> [Close (q, zero)]) costs) bound delta
                        || (qeq_bool delta one && raise (Unsupported "a delta of one"))
  | "epsilon", true when is_zero delta -> false
  | "epsilon", true -> accepts_account (List.map (fun q -> [Squared q]) costs) bound delta
  | ("rho" | "mu2"), _ when not (is_zero delta) -> raise (Invalid "delta: for epsilon alone")
  | "rho", true -> check_costs (List.map (fun q -> [mul half q]) costs) bound
  | "rho", false when costly = [] -> true
  | "rho", false -> raise (Unsupported "rho of Laplace noise")
  | "mu2", true -> check_gaussian (List.map (fun q -> [Squared q]) costs) bound
  | "mu2", false -> costly = []
  | _ -> raise (Invalid "measure")
